"""Which shards of a race devices are given, and how far ahead of its rounds."""

from pipelines.plan.race_record import HeatRecord, RaceRecord, Runner
from pipelines.plan.work_items import Shard
from pipelines.solve.dealing import Dealing, Turn

CELLS = ["a", "b", "c", "d"]
ROUNDS = 5


def turn(rounds=0, left=(), ahead=("b", "a"), over=False):
    runners = [Runner(cell=cell, end=8 * (rounds + 1), left_after=rounds if cell in left else None) for cell in CELLS]
    heat = HeatRecord(
        task="sr4", arm=None, rounds=rounds, of_rounds=ROUNDS, seen=8 * rounds, pool=8 * ROUNDS, measurements=50,
        over=over, leader="b", safe=True, runners=runners,
    )  # fmt: skip
    return Turn(RaceRecord(heats=[heat]), {cell: place for place, cell in enumerate(ahead)})


def dealing(devices=2, now=None):
    laps = {f"{cell}{number}": (cell, number) for number in range(ROUNDS) for cell in CELLS}
    shards = [Shard(name, 8 * place, 8) for place, name in enumerate(laps)]
    return Dealing(shards, laps, devices, turn() if now is None else now)


def given(deal):
    """What devices that begin at once are given, until nothing more is."""
    names = []
    while (shard := deal.take(len(deal.given))) is not None:
        deal.begin(shard.name, "device 0")
        names.append(shard.name)
    return names


def test_the_round_in_progress_comes_first_then_the_leader_and_no_more_than_a_few():
    assert given(dealing(devices=2)) == ["a0", "b0", "c0", "d0", "b1", "a1", "b2"]
    assert len(given(dealing(devices=4))) == 4 + 5


def test_nothing_is_solved_ahead_for_a_cell_that_may_leave():
    assert given(dealing(now=turn(ahead=()))) == ["a0", "b0", "c0", "d0"]


def test_what_was_ahead_counts_no_more_when_its_round_has_come():
    deal = dealing()
    given(deal)
    deal.update(turn(rounds=1, left=["c", "d"]))
    assert given(deal) == ["a2", "b3"]  # beside b2, which is ahead still


def test_a_cell_that_left_is_given_nothing_and_what_waits_of_it_is_not_solved():
    deal = dealing(now=turn(ahead=("b", "a", "c")))
    assert "c1" in given(deal)
    deal.update(turn(rounds=1, left=["c"]))
    assert not deal.begin("c1", "device 0")
    assert not [name for name in given(deal) if name.startswith("c")]


def test_few_wait_at_the_devices_so_that_what_is_given_late_follows_late_scores():
    deal = dealing(devices=1)
    assert [deal.take(ticket).name for ticket in range(2)] == ["a0", "b0"]
    assert deal.take(2) is None
    deal.begin("a0", "device 0")
    assert deal.take(2).name == "c0"


def test_a_ticket_that_asks_again_has_the_same_shard():
    deal = dealing()
    assert deal.take(0) == deal.take(0)


def test_devices_that_join_later_count():
    deal = dealing(devices=1)
    for device in range(4):
        deal.begin("a0", f"device {device}")
    assert deal.most == 5


def test_a_race_that_is_over_gives_its_cells_nothing_more():
    assert given(dealing(now=turn(rounds=2, over=True))) == [f"{cell}{number}" for number in range(2) for cell in CELLS]
