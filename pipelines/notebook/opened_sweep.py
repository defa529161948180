"""`Sweep`: a sweep's results in Python, or a sweep run from there; the numbers are those of terminal and report."""

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from markupsafe import Markup

from eval.cell_labels import in_order
from eval.record import CellResult, Contrast, SweepRecord, headline
from eval.record.contrasts import group_contrasts
from eval.record.typeset import html
from eval.record.word_tables import best_table, cell_table, contrast_table, tally_table
from operators import InputError
from operators.plurals import counted
from operators.validation import did_you_mean, shorten, validate
from pipelines.notebook.shown_rows import Rows, cell_numbers, contrast_numbers, shortened
from pipelines.notebook.sweep_pictures import SweepPictures, pictures_of
from pipelines.plan.race_record import Runner
from pipelines.plan.sweep_spec import SweepSpec, load_spec
from pipelines.score.race_results import by_stay, departures
from pipelines.score.race_rows import race_row
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.stored_signals import StoredSignals

_TABLE_ROWS = 20
"""Of a table in the overview of a sweep."""


class Sweep:
    """A sweep in its folder, finished or not; `Sweep.open` reads one, `Sweep.run` makes or completes one."""

    def __init__(self, stored: StoredSweep) -> None:
        self.stored = stored
        self._signals = StoredSignals(stored)

    @classmethod
    def open(cls, url: str | Path) -> "Sweep":
        """The sweep in a folder or below an `s3://` URL, as committed now; open it again to see what came since."""
        return cls(StoredSweep.read(SweepFolder(str(url))))

    @classmethod
    def run(cls, spec: SweepSpec | Mapping[str, Any] | str | Path, *, retry_failed: bool = False) -> "Sweep":
        """Solve, score and log what is missing, as `g2d2 sweep` does: a YAML file, its content, or a checked one.

        A tracking server that is away costs a warning; `g2d2 track` logs the sweep later.
        """
        from pipelines.console.terminal import results_alone
        from pipelines.searching import sweep_or_search  # with Ray, MLflow and the models, which reading needs none of
        from pipelines.track import TrackingError, track
        from pipelines.track.server import destination

        if isinstance(spec, str | Path):
            spec = load_spec(spec)
        spec = validate(SweepSpec, spec, where="specification")
        if spec.tracking.enabled:
            destination(spec.tracking, spec.output)  # a bad address is refused before hours of work
        with results_alone():
            stored = sweep_or_search(spec, retry_failed=retry_failed).stored(spec)
            if spec.tracking.enabled:
                try:
                    track(stored)
                except TrackingError as error:
                    warnings.warn(str(error), stacklevel=2)
        return cls(stored)

    @property
    def name(self) -> str:
        return self.stored.spec.name

    @property
    def url(self) -> str:
        """Where its results are."""
        return self.stored.folder.store.url()

    @property
    def spec(self) -> SweepSpec:
        """What made it."""
        return self.stored.spec

    @property
    def record(self) -> SweepRecord:
        """All that terminal, report and MLflow show: cells, winners, contrasts."""
        return self.stored.record

    @property
    def headline(self) -> str:
        """What its contrasts amount to, in a sentence."""
        return headline(self.record)

    @property
    def missing(self) -> int:
        """Work items that are not committed and scored."""
        return self.stored.missing

    @property
    def failed(self) -> int:
        """Work items that carry an error."""
        return self.stored.failed

    def scores(self) -> pa.Table:
        """One row per work item: ids, the cell's label, settings, metrics, costs, error; `.to_pandas()` for a frame."""
        table = self.stored.scores.table
        cells = table["cell"].combine_chunks().dictionary_encode()
        labels = pa.array([self.record.cell(id).label for id in cells.dictionary.to_pylist()], pa.string())
        place = table.column_names.index("cell") + 1
        return table.add_column(place, "cell_label", labels.take(cells.indices))

    def cells(self) -> Rows[CellResult]:
        """Every cell with its means and intervals, in the order of the terminal's table."""
        record = self.record
        return Rows(record.cells, cell_table(record, ids=True), lambda cell: cell_numbers(record, cell))

    def race(self) -> Rows[Runner]:
        """Every cell of its races: how far it came, by whom it was beaten, by how much and on what evidence."""
        race = self.stored.race
        if race is None:
            raise InputError(f"{self.name}: no race has begun in it; a specification asks for one by `race: safe`.")
        labels = {cell.id: cell.label for cell in self.record.cells}
        runners = [one for heat in race.heats for one in by_stay(heat)]
        return Rows(runners, departures(race.heats, self.record), lambda one: race_row(*race.of_cell[one.cell], labels))

    def contrast(self, a: str | CellResult, b: str | CellResult) -> Rows[Contrast]:
        """a minus b, paired by measurement and seed, per task and metric: the intervals of terminal and report.

        Each is an arm (or a value of the compared setting), of which the best setting is judged on measurements that
        did not choose it, or a cell by its id or label. p is corrected over the sweep's own comparisons where a
        stands against the baseline there, else over those returned.
        """
        sides = self.record.sides
        if sides is not None and b == sides.baseline and a in sides.names and a != b:
            contrasts = [one for one in self.record.contrasts if one.a == a]
        else:
            groups = (_word(a), self.matching(a)), (_word(b), self.matching(b))
            twice = {cell.id for cell in groups[0][1]} & {cell.id for cell in groups[1][1]}
            if twice:
                raise InputError(f"contrast: {groups[0][0]!r} and {groups[1][0]!r} share cell {min(twice)}.")
            contrasts = group_contrasts(self.stored.scores, self.record.judged, *groups, self.record.race)
        if not contrasts:
            raise InputError(f"contrast: {_word(a)!r} and {_word(b)!r} have no task with a scored metric in common.")
        single = all(len(self.matching(side)) == len({one.task for one in self.matching(side)}) for side in (a, b))
        how = "paired by measurement and seed" if single else "each at its best"
        return Rows(contrasts, contrast_table(contrasts, how), contrast_numbers)

    def measurements(self, task: str | None = None) -> list[str]:
        """Ids of the measurements of all tasks, or of one, by name."""
        cells = None if task is None else [cell.id for cell in self.record.of_task(task)]
        if cells == []:
            tasks = ", ".join(dict.fromkeys(cell.task for cell in self.record.cells))
            raise InputError(f"task: {self.name} has no {task!r}; it has {tasks}.")
        return self.stored.scores.measurements(cells)

    def images(
        self, measurement: str, cells: str | Sequence[str | CellResult] | None = None, seed: int | None = None
    ) -> SweepPictures:
        """Truth, measurement and reconstructions of one measurement, with scores.

        `cells` are ids, labels or arms; left out, the best cell of every arm by the first metric. The seed is the
        sweep's first unless given.
        """
        known = self.measurements()
        if measurement not in known:
            near = did_you_mean(measurement, known)
            raise InputError(
                f"measurement: {measurement!r}{near} is not scored; known are {shorten(', '.join(known))}."
            )
        able = set(self.stored.scores.cells_of(measurement))
        words = [cells] if isinstance(cells, str) else cells
        named = self._best(measurement) if words is None else [one for word in words for one in self.matching(word)]
        wanted = {cell.id: cell for cell in named if cell.id in able}
        if not wanted:
            raise InputError(f"cells: none of {shorten(words)} has measurement {measurement!r}.")
        seed = self.spec.seeds[0] if seed is None else seed
        return pictures_of(self._signals, self.record, measurement, [*wanted.values()], seed)

    def matching(self, which: str | CellResult) -> list[CellResult]:
        """Cells of an arm or compared value, or those of an id, a label or a label with its task before it."""
        if isinstance(which, CellResult):
            return [which]
        sides, cells = self.record.sides, self.record.cells
        for name_of in (lambda cell: None if sides is None else sides.of(cell), lambda cell: cell.arm):
            if found := [cell for cell in cells if name_of(cell) == which]:
                return found
        if found := [cell for cell in cells if which in (cell.id, cell.label, cell.title)]:
            return found
        known = [*(() if sides is None else sides.names), *self.record.arms, *in_order(cell.label for cell in cells)]
        near = did_you_mean(which, known)
        listed = shorten(", ".join(dict.fromkeys(filter(None, known))))
        raise InputError(f"cell: {which!r}{near} is no arm, id or label of {self.name}; it has {listed}.")

    def __repr__(self) -> str:
        return f"Sweep({self.url!r}): {self._counts}. {self.headline}."

    def _repr_html_(self) -> str:
        record = self.record
        words = [
            best_table(record),
            contrast_table(record.contrasts),
            tally_table(record.pointwise),
            cell_table(record),
        ]
        tables = [html(shortened(one, _TABLE_ROWS)) for one in words if one.rows]
        notes = [Markup("<li>{}</li>").format(note) for note in self.stored.notes]
        parts = [
            Markup("<h3>{}</h3><p><b>{}.</b></p><p>{}. {}</p>").format(
                self.name, self.headline, self._counts, self.url
            ),
            Markup("<ul>{}</ul>").format(Markup("").join(notes)) if notes else Markup(""),
            *tables[:1],
            *map(self._pictures_html, self.record.tasks),
            *tables[1:],
        ]
        return str(Markup("\n").join(parts))

    @cached_property
    def _counts(self) -> str:
        counts = f"{counted(len(self.record.cells), 'cell')}, {counted(len(self.stored.scores), 'image')}"
        lacking = {"failed": self.failed, "missing": self.missing}
        return ", ".join([counts, *(f"{count} {what}" for what, count in lacking.items() if count)])

    def _pictures_html(self, task: str) -> Markup:
        """The measurement on which the task's best cell does middling well, over the best cell of every arm."""
        typical = self._typical(task)
        if typical is None:
            return Markup("")
        shown = self.images(typical)
        return Markup("<p>{}, of middling quality, with the best cell of every arm</p>{}").format(
            typical, Markup(shown._repr_html_())
        )

    def _typical(self, task: str) -> str | None:
        winner = next((one for one in self.record.best if one.task == task), None)
        if winner is None:
            return None
        column = self.record.values(winner.cell, winner.metric.name)
        order = np.argsort(np.where(column.finite, column.values, np.inf), kind="stable")
        return str(column.measurements[order[(int(column.finite.sum()) - 1) // 2]])

    def _best(self, measurement: str) -> list[CellResult]:
        """The best cell of every arm of the measurement's task."""
        record, metrics = self.record, self.record.judged or self.record.metrics
        cell = self.stored.scores.cells_of(measurement)[0]
        found = (record.best_of(record.cell(cell).task, metrics[0], arm) for arm in record.arms)
        return [one for one in found if one is not None]


def _word(which: str | CellResult) -> str:
    return which if isinstance(which, str) else which.label
