"""Benches: what the solver costs, side by side with the loop as published; run with `python -m bench`."""
