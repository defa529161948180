"""The package's version, and the number that guards stored results."""

__version__ = "0.1.0"

SOLVER_VERSION = 1
"""Raised whenever a change alters reconstructions for the same work item; part of every work item's id."""
