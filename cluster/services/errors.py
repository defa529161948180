"""A service that cannot be started or stopped."""

from operators.errors import InputError


class ServiceError(InputError):
    """One sentence about what to do; where there is a log, its last lines follow."""
