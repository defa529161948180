"""The run of a whole sweep: what was swept, how complete it is, what came out best, star against Markov."""

import re
from collections.abc import Iterator
from functools import cache

import yaml

from eval.metrics import metric_info, metric_names
from eval.report.ranking import ranking_means
from eval.statistics import Interval, PairedResult, compare_grid, corrected_together
from eval.verdicts import verdict
from operators import InputError
from operators.plurals import counted
from pipelines.cells import Cell
from pipelines.identity import fingerprint
from pipelines.tracking.cell_run import CONTENT_VERSION
from pipelines.tracking.record import Record
from pipelines.tracking.runs import Content
from pipelines.tracking.spreadsheet import csv_table

VERSION = 2
"""Raised when the same results should be logged anew in a sweep's own run; its cells have a version of theirs."""
KEY = "sweep"
"""The grid key of a parent run."""
REPORT = "report.html"
"""The artifact that people open."""
_COLUMNS = (
    "metric", "a", "b", "mean_a", "mean_b", "difference", "low", "high", "p_value", "p_corrected", "effect_size",
    "pairs", "excluded", "corrected_over", "verdict",
)  # fmt: skip
_ROUNDED = 6


def sweep_content(record: Record, cell_digests: list[str], page: bytes | None = None) -> Content:
    """What is logged of a sweep; a param cannot change, so what an extension may change is a tag.

    `page` is its report where one is made already.
    """
    missing = int(record.summary["items"]) - len(record.scores.table)
    failed = _failed(record)
    measured = {f"measurement_{metric}/{_plain(task)}": mean.mean for task, metric, mean in _measured(record)}
    facts = [specification(record), record.summary["items"], record.summary["manifest_digest"], cell_digests, measured]
    facts += [record.notes] if record.notes else []
    return Content(
        key=KEY,
        name=record.spec.name,
        digest=fingerprint("tracked sweep", VERSION, CONTENT_VERSION, facts),
        tags=cache(lambda: _tags(record) | {"mlflow.note.content": _note(record, missing, failed)}),
        params=record.shared(),
        metrics=lambda: {
            "items": float(record.summary["items"]), "cells": float(len(record.cells)), "failed": float(failed),
            "missing": float(missing), **{f"best_{m}/{_plain(t)}": value for m, t, value, _ in best(record)},
            **measured,
        },
        artifacts=lambda: {
            "spec.yaml": specification(record).encode(), **comparison(record),
            **(report_page(record) if page is None else {REPORT: page}),
        },
        failed=bool(failed or missing),
    )  # fmt: skip


def report_page(record: Record) -> dict[str, bytes]:
    """The page that `g2d2 report` writes; a sweep is logged also where none can be made."""
    from pipelines.reporting import render_report  # it reads through this package's record

    try:
        return {REPORT: render_report(record.folder, metrics=record.restricted)}
    except Exception as error:  # a bug in a picture must not cost the logging
        said = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        return {"no-report.txt": said.encode()}


def specification(record: Record) -> str:
    """The YAML that made the sweep, without the tracking address, which may say more than it should."""
    return yaml.safe_dump(record.spec.model_dump(mode="json", exclude={"tracking": {"uri"}}), sort_keys=False)


def best(record: Record) -> Iterator[tuple[str, str, float, Cell]]:
    """Metric, task, mean and cell of the best mean, for metrics that have a better and a worse."""
    for metric in _judged(record):
        for task in dict.fromkeys(cell.task for cell in record.scored):
            cells = {cell.id: cell for cell in record.scored if cell.task == task}
            columns = {id: record.scores.values(id, metric) for id in cells}
            means = ranking_means(columns)
            if means:
                choose = max if metric_info(metric).direction == "higher" else min
                id = choose(means, key=means.__getitem__)
                yield metric, task, float(columns[id].values[columns[id].finite].mean()), cells[id]


def comparison(record: Record) -> dict[str, bytes]:
    """Cells at one point of the grid but for the process, paired by measurement and seed, as a table; none if none."""
    if "process" not in record.varied:
        return {}
    names = {record.scores.cell_label(cell.id): record.label(cell) for cell in record.scored}
    within, refused = ["task", *record.spec.grid.names()], []
    found: list[PairedResult] = []
    for metric in _judged(record):
        try:
            found += compare_grid(record.scores, metric, along="process", within=within)
        except InputError as error:
            refused.append(f"{metric}: {error}")
    rows = [[*_row(result, names), len(found), _said(result)] for result in corrected_together(found)]
    files = {"star-vs-markov.csv": csv_table(_COLUMNS, rows)}
    return files if not refused else files | {"not-compared.txt": "\n".join(refused).encode()}


def _row(result: PairedResult, names: dict[str, str]) -> list[object]:
    gap = result.difference
    numbers = [result.mean_a, result.mean_b, gap.mean, gap.low, gap.high, result.p_value, result.p_corrected]
    rounded = ["" if value is None else f"{value:.{_ROUNDED}g}" for value in [*numbers, result.effect_size]]
    return [result.metric, names[result.a], names[result.b], *rounded, result.pairs, gap.excluded]


def _said(result: PairedResult) -> str:
    return verdict(metric_info(result.metric), result, "star", "Markov")


def _tags(record: Record) -> dict[str, str]:
    spec, summary = record.spec, record.summary
    settings, changing = record.cells[0].settings, {*record.varied, *record.tuned}
    tags = {
        "prior": spec.prior,
        "manifest": spec.manifest,
        "manifest_digest": summary["manifest_digest"],
        "preset": spec.solver.preset
        if spec.solver.experiment is None
        else f"{spec.solver.preset} {spec.solver.experiment}",
        "settings": " ".join(f"{name}={value}" for name, value in settings.items() if name not in changing),
        "varied": ", ".join(record.varied),
        "tuned": ", ".join(record.tuned),
        "tasks": ", ".join(dict.fromkeys(cell.task for cell in record.cells)),
        "seeds": ", ".join(map(str, spec.seeds)),
        "version": summary["version"],
        "scoring": record.scoring,
        "results": record.scores_url,
        "devices": ", ".join(record.devices()),
        **{name: str(value) for name, value in summary.get("environment", {}).items()},
    }
    return {name: value for name, value in tags.items() if value}


def _note(record: Record, missing: int, failed: int) -> str:
    """Markdown that MLflow shows above the run's tables."""
    lines = [
        f"{counted(len(record.scored), 'cell')}, {len(record.scores.table)} of "
        f"{counted(record.summary['items'], 'image')}, {failed} failed, {missing} missing. "
        f"Every number: {record.scores_url}",
        *(f"\nNote: {note}." for note in record.notes),
        "",
        "| best | task | mean | cell |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {metric} | {task} | {value:.4g} | {record.label(cell)} |" for metric, task, value, cell in best(record)
    ]
    return "\n".join(lines)


def _measured(record: Record) -> list[tuple[str, str, Interval]]:
    return [(task, metric, mean) for task, found in record.measurements.items() for metric, mean in found.items()]


def _judged(record: Record) -> list[str]:
    known = set(metric_names())
    return [name for name in record.scores.metrics if name in known and metric_info(name).direction != "none"]


def _failed(record: Record) -> int:
    errors = record.scores.table["error"]
    return len(errors) - int(errors.null_count)


def _plain(task: str) -> str:
    """A task's name as MLflow allows it in a metric's."""
    return re.sub(r"[^\w./ :-]", "_", task)
