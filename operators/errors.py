"""The one exception for bad input: its message is a single sentence a user can act on."""


class InputError(ValueError):
    """Names the field, the value it had and what is allowed."""
