"""Ports on this machine that nobody listens on."""

import random
import socket

from cluster.services.errors import ServiceError

HOST = "127.0.0.1"
_LOWEST, _HIGHEST = 12000, 21900


def is_free(port: int) -> bool:
    """Whether a server could listen on this port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_ports(count: int, companion: int = 0) -> list[int]:
    """Different free ports below the range the system hands out by itself, each with port + companion free too."""
    candidates = random.sample(range(_LOWEST, _HIGHEST), _HIGHEST - _LOWEST)
    ports = [port for port in candidates[:500] if is_free(port) and (not companion or is_free(port + companion))]
    if len(ports) < count:
        raise ServiceError(f"ports: fewer than {count} are free between {_LOWEST} and {_HIGHEST}; close some servers.")
    return ports[:count]
