"""Arms side by side, each at its best by every metric: quality, contrasts with the baseline, and what it costs."""

from math import inf

from eval.metrics import MetricInfo
from eval.record.cell_result import CellResult
from eval.record.numbers import mean_words, shown
from eval.record.sweep_record import SweepRecord
from eval.record.word_tables import ARROWS, WordTable, bold_is, leading_columns, rows_beside
from eval.statistics import Interval

_CALLS = ("prior_calls", "decoder_calls")
_COSTS = ["calls", "s/image", "GiB"]


def leaderboard(record: SweepRecord) -> WordTable:
    """One row per task and arm, the best by the first metric on top, then measurement and truth themselves."""
    sides = record.sides
    baseline = sides.baseline if sides is not None and sides.baseline in record.arms else None
    header = ["task", "arm", "method", "prior", *(["race"] if record.race else [])]
    for metric in record.judged:
        header += [metric.name + ARROWS[metric.direction], *([f"minus {baseline}"] if baseline else [])]
        header += _COSTS if metric is record.judged[0] else []  # beside the quality that they buy, not behind all of it
    rows: list[list[str]] = []
    bold: set[tuple[int, int]] = set()
    for task in record.tasks:
        for arm in _in_order(record, task):
            cells = [record.best_of(task, metric, arm) for metric in record.judged]
            row = [task, arm, *_named(cells), *([_raced(record, cells)] if record.race else [])]
            for metric, cell in zip(record.judged, cells, strict=True):
                if cell is not None and record.metrics.index(metric) in leading_columns(record, cell):
                    bold.add((len(rows), len(row)))
                row.append("-" if cell is None else mean_words(cell.means[metric.name]))
                row += [_contrast(record, task, metric, arm, baseline)] if baseline else []
                row += _costs(record, cell) if metric is record.judged[0] else []
            rows.append(row)
        for own, label, means in rows_beside(record):
            if own == task:
                rows.append(_beside(record, task, label, means, header))
    caption = (
        f"Every arm at its best settings by each metric; {bold_is(record)}. Calls of prior and decoder, "
        f"seconds and memory are of the settings that are best by {record.judged[0].name}."
    )
    return WordTable("leaderboard", caption, header, rows, frozenset(bold))


def _in_order(record: SweepRecord, task: str) -> list[str]:
    metric = record.judged[0]
    sign = -1 if metric.direction == "higher" else 1

    def worth(arm: str) -> tuple[bool, float]:
        cell = record.best_of(task, metric, arm)
        mean = inf if cell is None else sign * cell.ranked.get(metric.name, cell.means[metric.name].mean)
        return cell is None or metric.name not in cell.ranked, mean  # what is not ranked comes last

    return sorted({cell.arm: None for cell in record.of_task(task)}, key=worth)


def _named(cells: list[CellResult | None]) -> list[str]:
    known = [cell for cell in cells if cell is not None]
    return [" / ".join(dict.fromkeys(getattr(cell, name) for cell in known)) or "-" for name in ("method", "prior")]


def _raced(record: SweepRecord, cells: list[CellResult | None]) -> str:
    marks = {} if record.race is None else record.race.marks
    return " / ".join(dict.fromkeys(marks.get(cell.id, "-") for cell in cells if cell is not None)) or "-"


def _contrast(record: SweepRecord, task: str, metric: MetricInfo, arm: str, baseline: str | None) -> str:
    """The honest difference: chosen on other images than it is judged by where a side has several cells."""
    if arm == baseline:
        return "baseline"
    matches = [one for one in record.contrasts if (one.task, one.metric, one.a) == (task, metric, arm)]
    return mean_words(matches[0].result.difference, sign=True) if matches and matches[0].result is not None else "-"


def _costs(record: SweepRecord, cell: CellResult | None) -> list[str]:
    if cell is None:
        return ["-"] * 3
    memory = record.cost(cell, "peak_bytes")
    return [
        _calls(record, cell),
        "-" if cell.seconds is None else shown(cell.seconds, 3),
        "-" if memory is None else shown(memory.mean / 2**30, 3),
    ]


def _calls(record: SweepRecord, cell: CellResult) -> str:
    counts = [record.scores.mean(cell.id, name) for name in _CALLS]
    return "-" if None in counts else " + ".join(f"{count:.4g}" for count in counts)


def _beside(record: SweepRecord, task: str, label: str, means: dict[str, Interval], header: list[str]) -> list[str]:
    known = {
        metric.name + ARROWS[metric.direction]: mean_words(means[metric.name])
        for metric in record.judged
        if metric.name in means
    }
    return [task, label, *(known.get(name, "-") for name in header[2:])]
