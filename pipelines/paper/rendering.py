"""A paper table as Markdown, LaTeX and plain values."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from eval.record.typeset import latex_words, pipe_table
from eval.statistics import Interval
from pipelines.paper.paper_tables import Ours, PaperTable, Theirs
from pipelines.paper.table_columns import COLUMNS, TASKS

DATASETS = {
    "cifar10": "here: CIFAR-10 32x32, embedded prior, {images} images",
    "imagenet": "here: ImageNet 256x256, {images} images",
    "ffhq": "here: FFHQ 256x256, {images} images",
}
PRINTED = "paper: {name} 256x256 (other prior, other data)"
PRINTED_BESIDE_FULL = "paper: {name} 256x256"
NAMES = {"imagenet": "ImageNet", "ffhq": "FFHQ"}

Block = tuple[str, list[list[str]]]
"""A heading and the lines below it."""


def to_markdown(table: PaperTable) -> str:
    """The table with 95 % intervals, the paper's rows below it, and the differences."""
    spec = table.spec
    lines = [f"## {spec.title}", "", f"{spec.source}. {spec.question}", ""]
    if any(entry.dataset == "cifar10" for entry in table.ours):
        lines += [f"Here: {spec.differs}", ""]
    header = ["", *(f"{_task(task)}: {COLUMNS[metric].heading}" for task, metric in _columns(table))]
    blocks = _blocks(table, _with_interval)
    empty = [""] * (len(header) - 1)
    lines.append(pipe_table(header, [row for heading, rows in blocks for row in ([f"**{heading}**", *empty], *rows)]))
    if table.differences:
        header, *rows = _difference_rows(table)
        lines += ["", "Differences, paired by image:", "", pipe_table(header, rows)]
    return "\n".join(lines) + "\n"


def to_latex(table: PaperTable) -> str:
    """A `table` environment with the paper's kind of rules; means alone."""
    columns = _columns(table)
    tasks = table.tasks()
    width = len(table.spec.columns)
    spans = " & ".join(rf"\multicolumn{{{width}}}{{c}}{{{latex_words(_task(task))}}}" for task in tasks)
    heads = " & ".join(latex_words(COLUMNS[metric].heading + _arrow(metric)) for _, metric in columns)
    body = []
    for heading, rows in _blocks(table, _mean):
        body += [r"\hline", rf"\multicolumn{{{len(columns) + 1}}}{{l}}{{\emph{{{latex_words(heading)}}}}} \\"]
        body += [" & ".join(map(latex_words, row)) + r" \\" for row in rows]
    return "\n".join(
        [
            r"\begin{table}[htb]",
            r"\centering",
            rf"\caption{{{latex_words(table.spec.title)}}}",
            rf"\begin{{tabular}}{{l{'c' * len(columns)}}}",
            r"\hline",
            rf" & {spans} \\",
            rf" & {heads} \\",
            *body,
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def to_record(table: PaperTable) -> dict[str, Any]:
    """For `--json` and the `.json` file."""
    return {
        "experiment": table.name,
        "title": table.spec.title,
        "source": table.spec.source,
        "ours": [asdict(entry) for entry in table.ours],
        "paper": [asdict(entry) for entry in table.theirs],
        "differences": [asdict(one) | {"verdict": one.verdict} for one in table.differences],
    }


def _columns(table: PaperTable) -> list[tuple[str, str]]:
    return [(task, metric) for task in table.tasks() for metric in table.spec.columns]


def _blocks(table: PaperTable, show: Callable[[str, Interval], str]) -> Iterator[Block]:
    """Our rows per data set, then the paper's."""
    small = any(entry.dataset == "cifar10" for entry in table.ours)
    for dataset in dict.fromkeys(entry.dataset for entry in table.ours):
        entries = [entry for entry in table.ours if entry.dataset == dataset]
        heading = DATASETS[dataset].format(images=max(entry.images for entry in entries))
        yield heading, list(_rows(table, entries, show))
    for dataset in dict.fromkeys(entry.dataset for entry in table.theirs):
        printed = [entry for entry in table.theirs if entry.dataset == dataset]
        heading = (PRINTED if small else PRINTED_BESIDE_FULL).format(name=NAMES[dataset])
        yield heading, list(_rows(table, printed, _printed))


def _rows(table: PaperTable, entries: Sequence[Ours | Theirs], show: Callable[[str, Any], str]) -> Iterator[list[str]]:
    for label in dict.fromkeys(entry.row for entry in entries):
        values = {entry.task: entry.values for entry in entries if entry.row == label}
        yield [
            label,
            *(
                show(metric, values[task][metric]) if metric in values.get(task, {}) else "-"
                for task, metric in _columns(table)
            ),
        ]


def _difference_rows(table: PaperTable) -> Iterator[list[str]]:
    datasets = [name for name in NAMES if any(name in one.printed for one in table.differences)]
    several = len({one.dataset for one in table.differences}) > 1
    yield ["a - b", "task", "metric", "here [95 %]", "p (Holm)", *(f"paper, {NAMES[n]}" for n in datasets), ""]
    for one in table.differences:
        column = COLUMNS[one.metric]
        printed = [column.text(one.printed[name], sign=True) if name in one.printed else "-" for name in datasets]
        yield [
            f"{one.a} - {one.b}",
            f"{NAMES.get(one.dataset, one.dataset)}, {_task(one.task)}" if several else _task(one.task),
            column.heading,
            _with_interval(one.metric, one.interval, sign=True),
            f"{one.p:.2g}",
            *printed,
            one.verdict,
        ]


def _with_interval(metric: str, interval: Interval, sign: bool = False) -> str:
    column = COLUMNS[metric]
    text = column.text(interval.mean, sign)
    if interval.low is None or interval.high is None:
        return text
    low, high = column.text(interval.low, sign), column.text(interval.high, sign)
    return text if low == high else f"{text} [{low}, {high}]"


def _mean(metric: str, interval: Interval) -> str:
    return COLUMNS[metric].text(interval.mean)


def _printed(metric: str, value: float) -> str:
    return COLUMNS[metric].text(value)


def _arrow(metric: str) -> str:
    return {1: " (higher)", -1: " (lower)", 0: ""}[COLUMNS[metric].better]


def _task(task: str) -> str:
    return TASKS.get(task, task)
