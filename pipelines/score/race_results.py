"""What a race came to, for terminal, MLflow and report: marks of cells, confirmed winners, who left when and why."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from eval.metrics import metric_info
from eval.record import SweepRecord
from eval.record.confirming import confirmed_on
from eval.record.numbers import shown
from eval.record.race_words import LEFT, Confirmation, RaceWords
from eval.record.word_tables import WordTable
from eval.scores import CellValues, ScoreTable
from operators.plurals import counted
from pipelines.plan.chosen_metrics import chosen_metrics
from pipelines.plan.race_course import draw_order
from pipelines.plan.race_record import HeatRecord, RaceRecord, Runner
from pipelines.plan.sweep_spec import SweepSpec


def race_words(spec: SweepSpec, race: RaceRecord, scores: ScoreTable) -> RaceWords:
    """For the sweep's record."""
    assert spec.race is not None
    known = set(scores.cells())
    won = [(heat, heat.winner) for heat in race.heats if heat.winner is not None and heat.winner.cell in known]
    return RaceWords(
        marks={one.cell: mark(heat, one) for heat in race.heats for one in heat.runners},
        unranked=frozenset(unranked(race)),
        confirmations=[confirmation(scores, heat, one, spec.race.seed) for heat, one in won if one is not None],
        metric=metric_info(spec.race.raced(chosen_metrics(spec))[0]).name,
    )


def unranked(race: RaceRecord) -> Iterator[str]:
    """Cells that left; where the arms of a task race apart, all that do not lead, since races end at other places."""
    apart = Counter(heat.task for heat in race.heats)
    for heat in race.heats:
        for one in heat.runners:
            if one.left_after is not None or (apart[heat.task] > 1 and one.cell != heat.leader):
                yield one.cell


def mark(heat: HeatRecord, runner: Runner) -> str:
    """`won`, `left after 24`, or `in`."""
    if runner.left_after is not None:
        return f"{LEFT} {runner.end}"
    return "won" if heat.winner is runner else "in"


def confirmation(scores: ScoreTable, heat: HeatRecord, winner: Runner, seed: int) -> Confirmation:
    """The winner's means over the measurements that come after those the race has seen, in its order."""
    digests = scores.values(winner.cell, scores.metrics[0]).digests.tolist()
    return confirmed_on(scores, heat.name, winner.cell, draw_order(digests, seed)[heat.seen :])


def cost_sentence(asked: int, whole: int, early: int) -> str:
    """`512 of the 1152 work items of the whole grid were asked for, and 8 others solved too early (0.444, 0.451)`."""
    items = f"{asked} of the {counted(whole, 'work item')} of the whole grid were asked for"
    shares = f"{asked / whole:.3f}, {(asked + early) / whole:.3f}"
    return f"{items}, and {early} others solved too early ({shares})" if early else f"{items} ({asked / whole:.3f})"


def departures(heats: Sequence[HeatRecord], record: SweepRecord) -> WordTable:
    """Who is in and who left: of each race the winner or leader, then the last to leave first."""
    metrics = list(dict.fromkeys(name for heat in heats for one in heat.runners for name in one.beaten))
    labels, several = {cell.id: cell.label for cell in record.cells}, len(heats) > 1
    header = [*(["race"] if several else []), "cell", "", "measurements", "beaten by"]
    header += [*(f"{name}: behind by" for name in metrics), "evidence"]
    rows = [
        [*([heat.name] if several else []), *_stay(heat, one, labels), *_defeat(one, metrics, labels)]
        for heat in heats
        for one in by_stay(heat)
    ]
    names = "Races" if several else heats[0].name
    return WordTable("race", f"{names}: who left when and why. {_how(heats[0])}", header, rows)


def _stay(heat: HeatRecord, one: Runner, labels: Mapping[str, str]) -> list[str]:
    return [labels.get(one.cell, one.cell), mark(heat, one), str(one.end)]


def by_stay(heat: HeatRecord) -> list[Runner]:
    """Who leads, then whoever stayed longer."""
    return sorted(heat.runners, key=lambda one: (one.cell != heat.leader, one.left_after is not None, -one.end))


def _defeat(one: Runner, metrics: Sequence[str], labels: Mapping[str, str]) -> list[str]:
    if not one.beaten:
        return [one.reason or "-", *["-"] * (len(metrics) + 1)]
    leaders = dict.fromkeys(defeat.leader for defeat in one.beaten.values())
    names = " and ".join(labels.get(leader, leader) for leader in leaders)
    leads = [shown(one.beaten[name].difference) if name in one.beaten else "-" for name in metrics]
    return [names, *leads, f"{min(defeat.evidence for defeat in one.beaten.values()):.2g}"]


def _how(heat: HeatRecord) -> str:
    if not heat.safe:
        return "Successive halving: the worse half leaves after each round; nothing is promised."
    return "A cell leaves when bets that it is beaten have multiplied their stake (evidence) by 1 / alpha."


def cells_over_measurements(heat: HeatRecord) -> tuple[list[int], list[int]]:
    """Steps of how many cells were in: where some left, how many there were before and how many after."""
    ends = sorted({one.end for one in heat.runners if one.left_after is not None} | {heat.seen})
    places, counts = [0], [len(heat.runners)]
    for end in ends:
        places += [end, end]
        counts += [counts[-1], sum(one.left_after is None or one.end > end for one in heat.runners)]
    return places, counts


def running_means(column: CellValues, order: Sequence[str], ends: Sequence[int]) -> list[float | None]:
    """A cell's mean over the first measurements of a race, after each of these numbers of them; None once it left."""
    place = {digest: rank for rank, digest in enumerate(order)}
    ranks = np.array([place[digest] for digest in column.digests.tolist()])
    means: list[float | None] = []
    for end in ends:
        part = column.values[(ranks < end) & column.finite]
        there = len(set(ranks[ranks < end].tolist()))
        means.append(float(part.mean()) if there == end and len(part) else None)
    return means
