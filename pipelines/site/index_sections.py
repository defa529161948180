"""The sections of a site's index: what is wrong, leaderboards, every sweep, and the trend of nights."""

from collections.abc import Sequence

from markupsafe import Markup

from eval.record import headline
from eval.record.boards import Board
from eval.record.headline import worse_than_nothing
from eval.record.leaderboard import leaderboard
from eval.record.numbers import mean_words
from eval.record.word_tables import best_table, contrast_table
from eval.report import Section
from eval.report.sections import Entry, folded, lead, link, paragraph, table, warning, word_table
from operators.plurals import counted
from pipelines.nightly.night_trends import trends
from pipelines.nightly.section import trend_charts
from pipelines.site.entries import NightsEntry, SweepEntry, problems

Named = tuple[str, Section]
"""A section with the short title that the navigation shows."""


def index_headline(sweeps: Sequence[SweepEntry], boards: Sequence[Board]) -> str:
    """What the first comparison of several sweeps shows, else what there is."""
    compared = [board for board in boards if len(board.entrants) > 1]
    return headline(compared[0].record) if compared else counted(len(sweeps), "sweep")


def index_sections(sweeps: Sequence[SweepEntry], boards: Sequence[Board], nights: Sequence[NightsEntry]) -> list[Named]:
    """In the order of the page."""
    sections = [("Summary", _summary(sweeps, boards, nights))]
    sections += [
        _board(board, alone=len(sweeps) == 1, first=len(board.entrants) > 1 and not at)
        for at, board in enumerate(boards)
    ]
    if sweeps:
        sections.append(("Sweeps", Section("The sweeps", _sweeps(sweeps))))
    return [*sections, *((f"Nights {one.name}", _nights(one)) for one in nights if one.nights)]


def _summary(sweeps: Sequence[SweepEntry], boards: Sequence[Board], nights: Sequence[NightsEntry]) -> Section:
    compared = {one.name for board in boards if len(board.entrants) > 1 for one in board.entrants}
    parts = [counted(len(sweeps), "sweep")] if sweeps else []
    if len(sweeps) > 1:
        parts.append(f"{len(compared) or 'none'} of them on the same measurements as another")
    parts += [f"{counted(len(one.nights), 'night')} of {one.name}" for one in nights if one.nights]
    wrong = [warning(f"{name}: {sentence}") for name, sentence in problems([*sweeps, *nights])]
    words = [lead(f"{', '.join(parts)}."), *wrong]
    return Section(index_headline(sweeps, boards), Markup("\n").join(words))


def _board(board: Board, alone: bool, first: bool) -> Named:
    record, names = board.record, [one.name for one in board.entrants]
    together = len(names) > 1
    parts = [] if alone else [paragraph(_what_is_compared(board))]
    parts += map(warning, (f"{one}." for one in worse_than_nothing(record, below_headline=first)))
    parts.append(word_table(leaderboard(record).narrowed if len(record.arms) > 1 else best_table(record)))
    if record.contrasts:
        parts.append(folded("Every contrast with the baseline", word_table(contrast_table(record.contrasts))))
    listed = ", ".join(names)
    title = f"On the same measurements: {listed}" if together else f"By itself: {listed}"
    short = f"Leaderboard {', '.join(board.common)}" if together else listed
    return short, Section(title, Markup("\n").join(parts))


def _what_is_compared(board: Board) -> str:
    record, sides = board.record, board.record.sides
    if len(board.entrants) == 1:
        return (
            f"No other sweep here saw {', '.join(board.common)} on the same measurements, so these numbers cannot be "
            "held against those of other tables."
        )
    counts = []
    for task, common in board.common.items():
        more = [f"{name} saw {count}" for name, count in board.seen[task].items() if count > common]
        counts.append(f"{task} on {counted(common, 'measurement')}" + (f" ({', '.join(more)})" if more else ""))
    against = "" if sides is None else f" Differences are to {sides.baseline}, paired by measurement and seed."
    chosen = " Where a side has several cells, they are judged on other images than they were chosen on."
    several = any(one.chosen for one in record.contrasts)
    return f"Only what all of these sweeps saw: {'; '.join(counts)}.{against}{chosen if several else ''}"


def _sweeps(sweeps: Sequence[SweepEntry]) -> Markup:
    return table(
        ["sweep", "state", "tasks", "arms", "cells", "reconstructions", "prior", "best"],
        [_row(one) for one in sweeps],
        "Every sweep with its page",
    )


def _row(one: SweepEntry) -> list[Entry]:
    sweep = one.sweep
    if sweep is None:
        return [one.name, "cannot be shown", *["-"] * 6]
    record = sweep.record
    state = "not complete" if sweep.missing > 0 else f"complete, {sweep.failed} failed" if sweep.failed else "complete"
    first = record.judged[:1]
    best = [f"{one.task}: {one.metric.name} {mean_words(one.mean)}" for one in record.best if one.metric in first]
    return [
        link(one.page, one.name), state, ", ".join(record.tasks), ", ".join(filter(None, record.arms)) or "-",
        len(record.cells), f"{len(sweep.scores)} of {sweep.expected}", sweep.prior or "-",
        "; ".join(best) or "-",
    ]  # fmt: skip


def _nights(one: NightsEntry) -> Section:
    whole = [record for record in one.nights if record.complete] or one.nights
    series = trends(one.nights, whole[-1], len(one.nights))
    rows: list[list[Entry]] = [
        [
            link(one.pages[record.night], record.night) if record.night in one.pages else record.night,
            record.outcome,
            ", ".join(f"{count} {verdict}" for verdict, count in record.verdicts.items() if count) or "-",
            f"{record.committed} of {record.expected}",
            record.failed,
            "-" if record.baseline is None else record.baseline,
        ]
        for record in reversed(one.nights)
    ]
    header = ["night", "outcome", "verdicts", "work items", "failed", "baseline"]
    newest = one.nights[-1]
    parts = [
        paragraph(f"Newest night {newest.night}: {newest.outcome}."),
        *(trend_charts(series) if len(series) and len(series[0].nights) > 1 else []),
        table(header, rows, "Nights, the newest first, each with its page where it left one"),
    ]
    if len(whole) < len(one.nights):
        parts.append(paragraph("Nights that did not run whole are in the table and in no chart."))
    return Section(f"Nights: {one.name}", Markup("\n").join(parts))
