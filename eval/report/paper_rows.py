"""The paper's numbers beside a sweep's own, and what keeps the two from being compared outright."""

from eval.paper import paper_results
from eval.record import SweepRecord
from eval.record.numbers import mean_words
from eval.report.content import Facts, PaperTable, TaskFacts
from g2d2.priors.catalog import CATALOG

METRICS = {"psnr": "psnr", "ssim": "ssim", "lpips_vgg": "lpips"}
"""Ours by the paper's name; the paper does not say which network its LPIPS uses."""
_PAPER_SIGMA, _PAPER_SIDE = 0.05, 256
_PAPER_BLUR = {"kernel_size": 61, "std": 3.0}
_PAPER_PRIOR = CATALOG["ithq"]
"""Of both data sets."""


def paper_tables(record: SweepRecord, facts: Facts) -> list[PaperTable]:
    """For every task that is one of the paper's, or a scaled relative of one."""
    tables = []
    for task in record.tasks:
        known = facts.tasks.get(task)
        kin = None if known is None else _kin(known)
        if known is None or kin is None:
            continue
        for dataset in dict.fromkeys(row.dataset for row in paper_results(task=kin)):
            tables.append(_table(record, facts, task, known, kin, dataset))
    return tables


def _kin(task: TaskFacts) -> str | None:
    if task.operator == "super_resolution" and task.params.get("factor") == 4:
        return "sr4"
    return "gaussian-deblur" if task.operator == "gaussian_blur" else None


def _table(record: SweepRecord, facts: Facts, task: str, known: TaskFacts, kin: str, dataset: str) -> PaperTable:
    metrics = [metric for metric in record.judged if metric.name in METRICS]
    rows = [["ours, " + cell, *values] for cell, values in _ours(record, task).items()]
    ours = len(rows)
    printed = paper_results(dataset=dataset, task=kin)
    for method in dict.fromkeys(row.method for row in printed):
        values = {row.metric: row.value for row in printed if row.method == method}
        rows.append([method, *(f"{values[name]:g}" if (name := METRICS[m.name]) in values else "" for m in metrics)])
    return PaperTable(task, dataset, _marks(facts, known), ["method", *(m.name for m in metrics)], rows, ours)


def _ours(record: SweepRecord, task: str) -> dict[str, list[str]]:
    """The best cell of each arm by the first metric: a row holds the means of one cell."""
    metrics = [metric for metric in record.judged if metric.name in METRICS]
    best = [record.best_of(task, metric, arm) for metric in metrics[:1] for arm in record.arms]
    return {
        cell.marked: [mean_words(cell.means[metric.name]) if metric.name in cell.means else "" for metric in metrics]
        for cell in best
        if cell is not None
    }


def _marks(facts: Facts, task: TaskFacts) -> list[str]:
    marks = _prior_marks(facts.prior, task)
    if task.x_shape[-1] != _PAPER_SIDE:
        marks.append(f"other data, {task.x_shape[-1]}x{task.x_shape[-2]} instead of 256x256")
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
    if prior in CATALOG or task.x_shape[-1] != _PAPER_PRIOR.image_size:
        return [other]
    return [f"{other}, unless it is a copy of {_PAPER_PRIOR.location}, which nothing here can check"]
