"""The best of an arm in a race: its winner, or who stayed; what left early was seen too briefly to be chosen."""

from collections.abc import Sequence

from eval.metrics import metric_info
from eval.record import CellResult
from eval.record.ranking import asked_alike, ranking_means
from operators import InputError
from operators.plurals import counted
from pipelines.plan.cells import Cell
from pipelines.plan.chosen_metrics import chosen_metrics
from pipelines.plan.race_record import HeatRecord
from pipelines.score.stored_sweep import StoredSweep


def check_raced(sweep: StoredSweep, metric: str) -> None:
    """Refuse a race that goes on, and a metric that did not decide who stayed."""
    race, heats = sweep.spec.race, [] if sweep.race is None else sweep.race.heats
    assert race is not None
    going = [heat for heat in heats if not heat.over]
    if going or not heats:
        where = going[0].sentence if going else "the race has not begun"
        raise InputError(f"sweep {sweep.folder.url}: {where}; run it to its end first.")
    names = race.raced(chosen_metrics(sweep.spec))
    by = [metric_info(name).name for name in (names if race.budget is None else names[:1])]
    if metric not in by:
        raise InputError(
            f"metric: {metric!r} did not decide who stayed in the race, so that its best may have left; take "
            f"{' or '.join(by)}, or sweep without race."
        )


def raced_best(sweep: StoredSweep, arm: str, task: str, metric: str) -> CellResult | None:
    """The winner where it is of this arm and won by this metric, else the best of the arm's cells that stayed."""
    heat, record = heat_of(sweep, arm, task), sweep.record
    assert record.race is not None
    own = [one.cell for one in heat.inside if record.cell(one.cell).arm == arm]
    if not own:
        raise InputError(
            f"arms: {arm!r} has no setting left in the race of {heat.name}; give race.among: arm, by which each arm "
            "has a winner, or choose other arms with --arms."
        )
    if heat.winner is not None and heat.winner.cell in own and metric == record.race.metric:
        won = record.cell(heat.winner.cell)
        return won if metric in won.means else None
    means = ranking_means(asked_alike(record.columns([record.cell(id) for id in own], metric)))
    choose = max if record.scores.info(metric).direction == "higher" else min
    return record.cell(choose(means, key=lambda id: means[id])) if means else None


def raced_words(sweep: StoredSweep, cells: Sequence[Cell], best: CellResult, metric: str) -> str:
    """`won a race of 8 settings by psnr on 24 measurements, confirmed on 12 others`, or how it was chosen else."""
    heat, race = heat_of(sweep, best.arm, best.task), sweep.record.race
    assert race is not None
    others = len(heat.runners) - len(cells)
    settings = counted(len(cells), "setting") + (f" against {others} of other arms" if others else "")
    seen = counted(heat.seen, "measurement")
    if heat.winner is None or heat.winner.cell != best.id or metric != race.metric:
        stayed = sum(one.cell in {cell.id for cell in cells} for one in heat.inside)
        return f"best {metric} of {stayed} that stayed of {settings} in a race on {seen}, not confirmed"
    confirmed = race.confirmed(best.id, metric)
    told = "not confirmed" if confirmed is None else f"confirmed on {confirmed.clusters} others"
    return f"won a race of {settings} by {metric} on {seen}, {told}"


def heat_of(sweep: StoredSweep, arm: str, task: str) -> HeatRecord:
    """The race that the cells of an arm ran in."""
    assert sweep.race is not None
    return next(heat for heat in sweep.race.heats if heat.task == task and heat.arm in (None, arm))
