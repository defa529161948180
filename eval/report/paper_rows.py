"""The paper's numbers beside a sweep's own, and what keeps the two from being compared outright."""

from dataclasses import dataclass

from eval.paper import paper_results
from eval.report.content import Facts, TaskFacts
from eval.report.findings import best_of
from eval.report.numbers import shown, spread
from eval.report.results import Results
from g2d2.priors.catalog import CATALOG

METRICS = {"psnr": "psnr", "ssim": "ssim", "lpips_vgg": "lpips"}
"""Ours by the paper's name; the paper does not say which network its LPIPS uses."""
_PAPER_SIGMA, _PAPER_SIDE = 0.05, 256
_PAPER_BLUR = {"kernel_size": 61, "std": 3.0}
_PAPER_PRIOR = CATALOG["ithq"]
"""Of both data sets."""


@dataclass(frozen=True)
class PaperTable:
    """One task of ours beside one table of the paper."""

    task: str
    dataset: str
    marks: list[str]
    """In words, what is not the same."""

    header: list[str]
    rows: list[list[str]]
    """Ours first; they are marked as such in the first column."""


def paper_tables(results: Results, facts: Facts) -> list[PaperTable]:
    """For every task that is one of the paper's, or a scaled relative of one."""
    found = []
    for task in results.tasks:
        known = facts.tasks.get(task)
        kin = None if known is None else _kin(known)
        if known is None or kin is None:
            continue
        for dataset in dict.fromkeys(row.dataset for row in paper_results(task=kin)):
            found.append(_table(results, facts, task, known, kin, dataset))
    return found


def _kin(task: TaskFacts) -> str | None:
    if task.operator == "super_resolution" and task.params.get("factor") == 4:
        return "sr4"
    return "gaussian-deblur" if task.operator == "gaussian_blur" else None


def _table(results: Results, facts: Facts, task: str, known: TaskFacts, kin: str, dataset: str) -> PaperTable:
    metrics = [metric for metric in results.judged if metric.name in METRICS]
    rows = [["ours, " + cell, *values] for cell, values in _ours(results, task).items()]
    printed = paper_results(dataset=dataset, task=kin)
    for method in dict.fromkeys(row.method for row in printed):
        values = {row.metric: row.value for row in printed if row.method == method}
        rows.append([method, *(f"{values[name]:g}" if (name := METRICS[m.name]) in values else "" for m in metrics)])
    return PaperTable(task, dataset, _marks(facts, known), ["method", *(m.name for m in metrics)], rows)


def _ours(results: Results, task: str) -> dict[str, list[str]]:
    """The best cell of each process by each metric: a row holds the means of one cell."""
    metrics = [metric for metric in results.judged if metric.name in METRICS]
    rows: dict[str, list[str]] = {}
    for process in sorted({cell.process for cell in results.of_task(task)}, key=lambda name: name != "star"):
        cells = [cell for cell in results.of_task(task) if cell.process == process]
        best = best_of(cells, metrics[0]) if metrics else None
        if best is not None:
            means = [best.means.get(metric.name) for metric in metrics]
            rows[best.label] = ["" if m is None else f"{shown(m.mean)} {spread(m)}".strip() for m in means]
    return rows


def _marks(facts: Facts, task: TaskFacts) -> list[str]:
    marks = _prior_marks(facts.prior, task)
    if task.image_shape[-1] != _PAPER_SIDE:
        marks.append(f"other data, {task.image_shape[-1]}x{task.image_shape[-2]} instead of 256x256")
    else:
        marks.append("other data, unless the manifest holds the paper's 1000 images, which nothing here can check")
    if task.operator == "gaussian_blur" and any(task.params.get(k) != v for k, v in _PAPER_BLUR.items()):
        marks.append("other blur (" + ", ".join(f"{k}={v}" for k, v in sorted(task.params.items())) + ")")
    if abs(task.sigma - _PAPER_SIGMA) > 1e-9:
        marks.append(f"other noise (sigma {task.sigma:g} instead of {_PAPER_SIGMA:g})")
    return marks


def _prior_marks(prior: str, task: TaskFacts) -> list[str]:
    """A folder may hold a copy: its publisher states no digest to tell it by, only its image size can rule it out."""
    if prior in (_PAPER_PRIOR.name, _PAPER_PRIOR.location):
        return []
    other = f"other prior ({prior})"
    if prior in CATALOG or task.image_shape[-1] != _PAPER_PRIOR.image_size:
        return [other]
    return [f"{other}, unless it is a copy of {_PAPER_PRIOR.location}, which nothing here can check"]
