"""The run of a whole sweep: what was swept, how complete it is, what came out best, and all contrasts."""

import json
import uuid
from dataclasses import replace
from functools import cache
from itertools import accumulate

import yaml
from pydantic import BaseModel, ConfigDict

from eval.cell_labels import IDENTITY
from eval.record import Contrast, headline
from eval.record.typeset import markdown
from eval.record.word_tables import best_table
from operators import InputError
from operators.plurals import counted
from pipelines.plan.item_ids import fingerprint
from pipelines.score.race_results import by_stay
from pipelines.score.race_rows import race_row
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import read_record
from pipelines.track.cell_run import CONTENT_VERSION
from pipelines.track.metric_names import plain_task
from pipelines.track.runs import Content
from pipelines.track.server import run_path
from pipelines.track.spreadsheet import csv_table
from pipelines.track.system_metrics import system_points

VERSION = 6
"""Raised when the same results should be logged anew in a sweep's own run; its cells have a version of theirs."""
KEY = "sweep"
"""The grid key of a parent run."""
REPORT = "report.html"
"""The artifact that people open."""
CONTRASTS = "contrasts.csv"
RACE = "race.csv"
_FOLDER_ID = "tracking.json"
_COLUMNS = (
    "kind", "task", "metric", "a", "b", "cell_a", "cell_b", "mean_a", "mean_b", "difference", "low", "high", "p_value",
    "p_corrected", "effect_size", "pairs", "excluded", "corrected_over", "verdict",
)  # fmt: skip
_ROUNDED = 6
_NOTE = "mlflow.note.content"
"""The tag that MLflow shows as a run's description."""
_MOST = 8000
"""Characters of a description that MLflow keeps; it cuts off the rest without a word."""
_WORDS, _LINKS, _MORE = 3000, 3000, 60
"""What of them words, links and the remark that rows are left out may take; the table has the rest."""


class _FolderId(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str


def sweep_key(sweep: StoredSweep) -> str:
    """The same for every resumption and extension of this sweep, by an arm too; two folders never share it."""
    store = sweep.folder.store
    store.create_new(_FOLDER_ID, json.dumps({"id": uuid.uuid4().hex}).encode())
    return fingerprint("sweep", read_record(store, _FOLDER_ID, _FolderId).id, sweep.spec.name, sweep.shared())


def sweep_content(sweep: StoredSweep, cell_digests: list[str], page: bytes | None = None) -> Content:
    """What is logged of a sweep; a param cannot change, so what an extension may change is a tag.

    `page` is its report where one is made already.
    """
    record = sweep.record
    means = {f"best_{one.metric.name}/{plain_task(one.task)}": one.mean.mean for one in record.best}
    measured = {
        f"measurement_{metric}/{plain_task(task)}": mean.mean
        for task, of_task in record.measurements.items()
        for metric, mean in of_task.items()
    }
    real = real_metrics(sweep)
    facts = [specification(sweep), sweep.expected, sweep.summary["manifest_digest"], cell_digests, measured]
    facts += [real] if real else []
    facts += [sweep.notes] if sweep.notes else []
    facts += [] if sweep.race is None else [sweep.race.model_dump(mode="json"), RACE, sweep.early]
    return Content(
        key=KEY,
        name=sweep.spec.name,
        digest=fingerprint("tracked sweep", VERSION, CONTENT_VERSION, facts),
        tags=cache(lambda: _tags(sweep) | {_NOTE: description(sweep)}),
        params=sweep.shared(),
        metrics=lambda: {
            "items": float(sweep.expected), "cells": float(len(sweep.plan.cells)), "failed": float(sweep.failed),
            "missing": float(sweep.missing), **means, **measured, **real,
            **race_metrics(sweep),
        },
        artifacts=lambda: {
            "spec.yaml": specification(sweep).encode(), **contrast_files(sweep), **race_files(sweep),
            **(report_page(sweep) if page is None else {REPORT: page}),
        },
        failed=bool(sweep.failed or sweep.missing),
        system=lambda: system_points(sweep.folder),
    )  # fmt: skip


def real_metrics(sweep: StoredSweep) -> dict[str, float]:
    """What the truths are worth by themselves, row by row and as sets: `real_foot_skating/path-5`."""
    record = sweep.record
    numbers = {
        task: {name: mean.mean for name, mean in record.real.get(task, {}).items()} | record.real_sets(task)
        for task in record.tasks
    }
    return {
        f"real_{name}/{plain_task(task)}": value for task, of_task in numbers.items() for name, value in of_task.items()
    }


def with_links(content: Content, experiment: str, runs: dict[str, str], sweep: StoredSweep) -> Content:
    """The same, its description with links to the runs of cells: the best ones first, as many as fit."""
    best = dict.fromkeys(one.cell.id for one in sweep.record.best)
    links = ""
    for id in [*best, *(cell.id for cell in sweep.record.cells if cell.id not in best)]:
        link = f"- [{sweep.record.cell(id).title}]({run_path(experiment, runs[id])})\n"
        if len(links) + len(link) > _LINKS:
            links += f"- and more: {len(runs)} cells in all, in the view {sweep.spec.name}\n"
            break
        links += link
    noted = content.tags() | {_NOTE: description(sweep, f"\n\nCells:\n\n{links}")}
    return replace(content, tags=lambda: noted)


def race_metrics(sweep: StoredSweep) -> dict[str, float]:
    """Of a race: its cost beside the whole grid's, who is still in, and winners on measurements that took no part.

    `race_spent` is the cost with what was solved too early.
    """
    if sweep.race is None or sweep.record.race is None:
        return {}
    whole = sweep.summary["items"]
    numbers = {"race_cost": sweep.expected / whole, "race_spent": (sweep.expected + sweep.early) / whole}
    numbers |= {f"race_cells_in/{plain_task(heat.name)}": float(len(heat.inside)) for heat in sweep.race.heats}
    for one in sweep.record.race.confirmations:
        numbers |= {f"confirmed_{name}/{plain_task(one.race)}": mean.mean for name, mean in one.means.items()}
    return numbers


def report_page(sweep: StoredSweep) -> dict[str, bytes]:
    """The page that `g2d2 report` writes; a sweep is logged also where none can be made."""
    from pipelines.report import render_sweep  # with what draws charts, which tracking alone does not need

    try:
        return {REPORT: render_sweep(sweep)}
    except Exception as error:  # a bug in a picture must not cost the logging
        message = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        return {"no-report.txt": message.encode()}


def specification(sweep: StoredSweep) -> str:
    """The YAML that made the sweep, without the tracking address, which may say more than it should."""
    return yaml.safe_dump(sweep.spec.model_dump(mode="json", exclude={"tracking": {"uri"}}), sort_keys=False)


def contrast_files(sweep: StoredSweep) -> dict[str, bytes]:
    """Every contrast of the sweep as a table; none where there is none."""
    families = {"best of grid": sweep.record.contrasts, "same settings": sweep.record.pointwise}
    rows = [_row(kind, one) for kind, contrasts in families.items() for one in contrasts]
    return {CONTRASTS: csv_table(_COLUMNS, rows)} if rows else {}


def race_files(sweep: StoredSweep) -> dict[str, bytes]:
    """Every cell of a race as a table: how far it came, by whom it was beaten and on what evidence."""
    if sweep.race is None:
        return {}
    labels = {cell.id: cell.label for cell in sweep.record.cells}
    rows = [race_row(heat, one, labels) for heat in sweep.race.heats for one in by_stay(heat)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {RACE: csv_table(names, [["" if row.get(name) is None else row[name] for name in names] for row in rows])}


def _row(kind: str, one: Contrast) -> list[object]:
    names = [kind, one.task, one.metric.name, one.a, one.b, one.judged_a, one.judged_b]
    if one.result is None:
        return [*names, *[""] * 8, 0, "", one.comparisons, one.verdict]
    result, gap = one.result, one.result.difference
    numbers = [result.mean_a, result.mean_b, gap.mean, gap.low, gap.high, result.p_value, result.p_corrected]
    rounded = ["" if value is None else f"{value:.{_ROUNDED}g}" for value in [*numbers, result.effect_size]]
    return [*names, *rounded, result.pairs, gap.excluded, one.comparisons, one.verdict]


def _tags(sweep: StoredSweep) -> dict[str, str]:
    spec, summary, record = sweep.spec, sweep.summary, sweep.record
    parameters = [cell.parameters for cell in record.cells]
    names = [name for name in sweep.scores.parameters if name not in IDENTITY]
    differing = [name for name in names if len({repr(known.get(name)) for known in parameters}) > 1]
    fixed = {name: value for name, value in parameters[0].items() if name in names and name not in differing}
    tags = {
        "method": sweep.methods,
        "prior": sweep.prior,
        "prior_digest": ", ".join(summary["priors"].values()),
        "manifest": spec.manifest,
        "manifest_digest": summary["manifest_digest"],
        "preset": sweep.preset,
        "settings": " ".join(f"{name}={value}" for name, value in fixed.items() if value is not None),
        "arms": ", ".join(filter(None, record.arms)),
        "baseline": "" if record.sides is None or len(record.sides.names) < 2 else record.sides.baseline,
        "headline": headline(record),
        "varied": ", ".join(record.shown),
        "set_per_arm": ", ".join(name for name in differing if name not in record.shown),
        "tasks": ", ".join(record.tasks),
        "seeds": ", ".join(map(str, spec.seeds)),
        "version": summary["version"],
        "scoring": sweep.scoring,
        "results": sweep.scores_url,
        "devices": ", ".join(sweep.devices()),
        **{name: str(value) for name, value in summary.get("environment", {}).items()},
    }
    return {name: value for name, value in tags.items() if value}


def description(sweep: StoredSweep, links: str = "") -> str:
    """Markdown that MLflow shows above the run's tables; of the best cells as many as leave room for the links."""
    record = sweep.record
    counts = (
        f"{counted(len(record.cells), 'cell')}, {len(sweep.scores)} of {counted(sweep.expected, 'image')}, "
        f"{sweep.failed} failed, {sweep.missing} missing. Every number: {sweep.scores_url}"
    )
    words = "\n\n".join([f"**{headline(record)}**", counts, *(f"Note: {note}." for note in sweep.notes)])[:_WORDS]
    lines = markdown(best_table(record)).splitlines(keepends=True)
    room = _MOST - _MORE - len(words) - len(links)
    fitting = sum(length <= room for length in accumulate(map(len, lines)))
    more = f"\nand {len(lines) - fitting} more, in {REPORT}" if fitting < len(lines) else ""
    return f"{words}\n\n{''.join(lines[:fitting])}{more}{links}"
