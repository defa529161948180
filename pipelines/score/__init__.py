"""Scores of what is solved, and what is committed of a plan."""
