"""All comparisons of a grid that belong together, corrected together."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from eval.scores import Parameter, ScoreTable
from eval.statistics.multiplicity import holm
from eval.statistics.paired import PairedResult, paired
from operators import InputError


def compare_grid(
    table: ScoreTable,
    metric: str,
    *,
    baseline: str | None = None,
    along: str | None = None,
    within: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[PairedResult]:
    """Each cell minus the `baseline` cell, or each pair of cells that differ in the parameter `along` alone.

    Such a pair is the later value minus the earlier. `within` names the parameters that must agree besides, by
    default all: with it each value of `along` may have settings that were tuned for it. p-values are
    corrected over all the comparisons returned.
    """
    if (baseline is None) == (along is None):
        raise InputError("compare_grid: give either baseline, a cell id, or along, a parameter name.")
    pairs = _with_baseline(table, baseline) if baseline is not None else _along(table, str(along), within)
    found = [
        paired(table.values(a, metric), table.values(b, metric), confidence=confidence, resamples=resamples, seed=seed)
        for a, b in pairs
    ]
    return corrected_together(found)


def corrected_together(results: Sequence[PairedResult]) -> list[PairedResult]:
    """The same comparisons with p-values after Holm's correction over all of them."""
    if not results:
        return []
    ps = holm([result.p_value for result in results])
    return [replace(result, p_corrected=float(p)) for result, p in zip(results, ps, strict=True)]


def _with_baseline(table: ScoreTable, baseline: str) -> list[tuple[str, str]]:
    table.cell_label(baseline)  # refuses an unknown one
    return [(cell, baseline) for cell in table.cells() if cell != baseline]


def _along(table: ScoreTable, name: str, within: Sequence[str] | None) -> list[tuple[str, str]]:
    if name not in table.parameters:
        raise InputError(f"along: {name!r} is not a parameter; known are {', '.join(table.parameters) or 'none'}.")
    groups: dict[tuple[tuple[str, Parameter], ...], list[str]] = {}
    for cell in table.cells():
        settings = table.cell_parameters(cell)
        if settings.pop(name, None) is not None:
            shared = settings if within is None else {key: settings.get(key) for key in within if key != name}
            groups.setdefault(tuple(shared.items()), []).append(cell)
    pairs = [(later, earlier) for cells in groups.values() for earlier, later in combinations(cells, 2)]
    if not pairs:
        raise InputError(f"along: no two cells differ in {name!r} alone: there is nothing to compare.")
    return pairs
