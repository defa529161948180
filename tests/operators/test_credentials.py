"""Secrets in addresses are seen in any spelling, and nothing else is taken for one."""

import pytest

from operators.credentials import holds_secret, masked

SECRET = [
    "s3://KEY:SECRET@bucket/x",
    "s3://KEY:SEC/RET@bucket/x",
    "s3://KEY:9/RET@bucket/x",
    " http://user:pass@host",
    "https://token@host/x",
    "postgresql+psycopg2://user:p@ss@host/db",
    "postgresql://user:pa/ss@host/db",
    "user:pass@host:5000/x",
    "https://host/x?api_key=abc",
    "mysql://host/db;pwd=abc",
]
PLAIN = [
    "s3://bucket/alice@example.org/sweep",
    "https://host:8080/a@b",
    "sqlite:////data/a@b:c.db",
    "/data/12:30@gpu/x",
    "s3://bucket/max_tokens=77",
]


@pytest.mark.parametrize("address", SECRET)
def test_secrets_are_seen_and_masked(address):
    assert holds_secret(address)
    shown = masked(f"store {address}: it is not there.")
    assert "***" in shown
    assert not any(word in shown for word in ("SEC", "RET", "pass", "p@ss", "token@", "abc", "pa/ss"))


@pytest.mark.parametrize("address", PLAIN)
def test_what_only_looks_like_one_is_shown_as_it_is(address):
    assert not holds_secret(address)
    assert masked(f"store {address}: it is not there.") == f"store {address}: it is not there."
