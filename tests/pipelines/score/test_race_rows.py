"""What a terminal is told of a large race."""

from pipelines.plan.race_record import Defeat, HeatRecord, RaceRecord, Runner
from pipelines.score.race_rows import bar_words, news, race_lines, race_state


def heat(inside, left, over=False):
    runners = [Runner(cell=f"in{number}", end=80) for number in range(inside)] + [
        Runner(
            cell=f"out{number}", end=8 * number, left_after=number, reason="beaten",
            beaten={"psnr": Defeat(leader="in0", difference=1.5, evidence=25.0)},
        )
        for number in range(1, left + 1)
    ]  # fmt: skip
    return HeatRecord(
        task="sr4", arm=None, rounds=10, of_rounds=12, seen=80, pool=96, measurements=128, over=over, leader="in0",
        safe=True, runners=runners,
    )  # fmt: skip


def test_a_large_race_takes_few_lines_and_counts_whom_it_does_not_name():
    lines = list(race_lines(race_state(heat(20, 9), {})))
    assert lines[0] == "leads: in0"
    assert lines[1] == "in: in1; in2; in3; in4; in5 and 14 more"
    assert lines[2] == "left after 72: out9, behind in0 by 1.500 psnr, evidence 25"
    assert lines[-1] == "and 4 that left before"
    assert len(lines) == 8


def test_a_race_that_is_over_names_its_winner_alone():
    assert list(race_lines(race_state(heat(1, 0, over=True), {"in0": "star"}))) == ["won: star"]


def test_news_names_who_left_behind_whom_and_on_what_evidence():
    before = RaceRecord(heats=[heat(20, 9)])
    gone = [one.model_copy(update={"left_after": None, "beaten": {}}) for one in before.heats[0].runners[-5:]]
    before = RaceRecord(
        heats=[before.heats[0].model_copy(update={"runners": [*before.heats[0].runners[:-5], *gone], "rounds": 9})]
    )
    lines = list(news(before, RaceRecord(heats=[heat(20, 9)]), {"out5": "star", "in0": "markov"}))
    assert lines[0] == "sr4: 80 of 96 measurements seen, 20 of 29 cells still in"
    assert lines[1] == "  left after 40: star, behind markov by 1.500 psnr, evidence 25"
    assert lines[4] == "  and 2 more"
    assert len(lines) == 5
    assert list(news(before, before, {})) == []


def test_a_bar_says_how_many_are_in_and_who_leads():
    labels = {"in0": "star, eta_kl=0.001"}
    assert bar_words(RaceRecord(heats=[heat(12, 37)]), labels) == "12/49 in, leads: star, eta_kl=0.001"
    assert (
        bar_words(RaceRecord(heats=[heat(1, 2, over=True)] * 2), {}) == "sr4: 1/3 in, won: in0; sr4: 1/3 in, won: in0"
    )
