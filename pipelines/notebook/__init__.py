"""A sweep in Python: what the terminal and the report show, as objects that a notebook displays."""
