"""Peak memory in a process of its own."""

import pytest

from bench.memory import peak_of


@pytest.mark.slow
def test_memory_above_the_weights_is_positive():
    found = peak_of("tiny", "ours", 2, 5.0, threads=1)
    assert found is None or (0 < found["peak_mib"] < 500 and found["weights_mib"] > 0)
