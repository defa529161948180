"""How much of a device's time is counted as work."""

from bench.race_devices import seconds_at_work


def test_of_a_shard_that_was_begun_before_only_the_rest_counts():
    assert seconds_at_work([14.0], latency=10.0, begin=10.0, end=30.0) == 4.0
    assert seconds_at_work([10.0, 24.0], latency=10.0, begin=10.0, end=24.0) == 10.0
    assert seconds_at_work([9.0, 40.0], latency=10.0, begin=10.0, end=30.0) == 0.0
