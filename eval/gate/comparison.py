"""The gate's rule, applied to every cell and metric of a baseline.

The gain is the paired mean difference, candidate minus baseline, turned so that more is better. A metric of a cell is

- regressed when the loss is real and matters: the sign-flip p-value, corrected by Holm over everything judged, is at
  most 1 - confidence, and the estimated loss is larger than the tolerance;
- improved when the same holds of a gain;
- unchanged when the whole confidence interval of the gain lies within the tolerance on both sides;
- undecided otherwise: the data cannot tell;
- missing when the candidate lacks a result that the baseline has, and incomparable when the two did not see the same
  data. Both fail the gate.

Cells are paired by what they share (`eval.gate.cell_pairs`); where settings of a pair differ, it is judged all the same
and says which.

Testing against no loss, and not against a loss of the tolerance, is deliberate. Where nothing changed, the differences
of two runs are symmetric about zero and the test is exact for any noise, so false alarms are as rare as promised; and a
loss of three tolerances is found with far fewer images.
"""

from collections.abc import Mapping
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np

from eval.gate.cell_pairs import CellPair, pair_cells
from eval.gate.circumstances import circumstances
from eval.gate.result import GateResult, Judgement, Verdict
from eval.gate.spared import NOTHING, Spared, mark, without
from eval.gate.tolerances import Tolerance, checked_tolerance, default_tolerances
from eval.scores import CellValues, ScoreTable
from eval.statistics.bootstrap import Interval
from eval.statistics.multiplicity import holm
from eval.statistics.paired import key_difference, paired
from operators import InputError
from operators.plurals import counted

_POWER = 0.8
"""Chance with which a change counts as one that would be noticed."""


def compare(
    candidate: ScoreTable,
    baseline: ScoreTable,
    tolerances: Mapping[str, Tolerance | Mapping[str, Any]] | None = None,
    *,
    spared: tuple[Spared, Spared] = (NOTHING, NOTHING),
    resamples: int = 10_000,
    seed: int = 0,
) -> GateResult:
    """Judge each cell of the baseline by each metric that has a tolerance, by default its own.

    `spared` is what races left out of the candidate and of the baseline: cells are judged on what both were asked for.
    """
    judged, pairs = _chosen(baseline, tolerances), pair_cells(candidate, baseline)
    judgements = [
        _measured(candidate, baseline, cell, pair, metric, tolerance, spared, resamples, seed)
        for metric, tolerance in judged.items()
        for cell, pair in pairs.items()
    ]
    tested = [i for i, judgement in enumerate(judgements) if judgement.p_value is not None]
    corrected = holm([judgements[i].p_value or 0.0 for i in tested])
    for i, p in zip(tested, corrected, strict=True):
        judgements[i] = _decided(judgements[i], float(p), len(tested))
    return GateResult(judgements=tuple(judgements), notes=tuple(_notes(candidate, baseline, pairs)), pairs=pairs)


def _chosen(
    baseline: ScoreTable, tolerances: Mapping[str, Tolerance | Mapping[str, Any]] | None
) -> dict[str, Tolerance]:
    if tolerances is None:
        return default_tolerances(baseline.metrics, info=baseline.info)
    has = f"the baseline has {', '.join(baseline.metrics) or 'no metrics'}"
    if not tolerances:
        raise InputError(f"tolerances: none is given: name at least one metric; {has}.")
    for metric in tolerances:
        if metric not in baseline.metrics:
            raise InputError(f"tolerances: {metric!r} cannot be judged; {has}.")
    return {metric: checked_tolerance(value, metric) for metric, value in tolerances.items()}


def _measured(
    candidate: ScoreTable,
    baseline: ScoreTable,
    cell: str,
    pair: CellPair,
    metric: str,
    tolerance: Tolerance,
    spared: tuple[Spared, Spared],
    resamples: int,
    seed: int,
) -> Judgement:
    """The difference and its p-value, or why there is none; `_decided` turns them into a verdict."""
    label = baseline.cell_label(cell) + mark(*spared, pair.candidate, cell)
    empty = Judgement(cell, label, metric, Verdict.MISSING, tolerance, changes=pair.changes)
    if pair.candidate is None:
        return replace(empty, reason=pair.reason)
    if metric not in candidate.metrics:
        return replace(empty, reason=f"the candidate does not have {metric}")
    new, old = candidate.values(pair.candidate, metric), baseline.values(cell, metric)
    if new.failed_count:
        failed = f"{new.failed_count} of {counted(len(new.values), 'item')} of the candidate failed"
        return replace(empty, reason=failed)
    new, old = without(new, spared[1].rows.get(cell, ())), without(old, spared[0].rows.get(pair.candidate, ()))
    lacking = _lacking(new, old)
    if lacking:
        return replace(empty, reason=lacking)
    if not len(old.values):
        return replace(empty, verdict=Verdict.INCOMPARABLE, reason="the races asked for no row of both")
    unlike = key_difference(new, old, "the candidate", "the baseline")
    if unlike:
        return replace(empty, verdict=Verdict.INCOMPARABLE, reason=unlike)
    if not (new.finite & old.finite).any():
        return replace(empty, verdict=Verdict.INCOMPARABLE, reason="no pair has finite values in both")
    result = paired(new, old, confidence=tolerance.confidence, resamples=resamples, seed=seed)
    return replace(
        empty,
        candidate_mean=result.mean_a,
        baseline_mean=result.mean_b,
        difference=result.difference,
        allowed=tolerance.size(result.mean_b),
        p_value=result.p_value,
    )


def _lacking(new: CellValues, old: CellValues) -> str | None:
    """What the baseline has and the candidate has not."""
    keys = {key: bool(ok) for key, ok in zip(_keys(new), new.finite, strict=True)}
    gone = [key for key in _keys(old) if key not in keys]
    if gone:
        measurement, seed = gone[0]
        part = f"{len(gone)} of {counted(len(old.values), 'item')}"
        return f"{part} {'is' if len(gone) == 1 else 'are'} not in the candidate, such as {measurement} seed {seed}"
    broken = sum(ok and not keys[key] for key, ok in zip(_keys(old), old.finite, strict=True))
    if broken:
        part = f"{broken} of {counted(len(new.values), 'value')} of the candidate"
        return f"{part} {'is' if broken == 1 else 'are'} not finite although the baseline's are"
    return None


def _keys(values: CellValues) -> list[tuple[str, int]]:
    return list(zip(values.measurements, values.seeds.tolist(), strict=True))


def _decided(judgement: Judgement, p: float, family: int) -> Judgement:
    difference, allowed = judgement.difference, judgement.allowed
    assert difference is not None
    assert allowed is not None
    gain = judgement.tolerance.sign * difference.mean
    real = p <= 1 - judgement.tolerance.confidence
    inside = difference.low is not None and max(-difference.low, difference.high or 0.0) <= allowed
    reason = None
    if real and gain < -allowed:
        verdict = Verdict.REGRESSED
    elif real and gain > allowed:
        verdict = Verdict.IMPROVED
    elif inside:
        verdict = Verdict.UNCHANGED
    else:
        verdict = Verdict.UNDECIDED
        reason = _doubt(difference, allowed, family)
    if difference.excluded:
        left_out = f"{counted(difference.excluded, 'pair')} without finite values in both left out"
        reason = left_out if reason is None else f"{reason}; {left_out}"
    return replace(judgement, verdict=verdict, p_corrected=p, reason=reason)


def _doubt(difference: Interval, allowed: float, family: int) -> str:
    """Why it could not be decided, and how many measurements could."""
    chance = (1 - difference.confidence) / family
    needed = int(np.ceil(1 - np.log2(chance)))
    if difference.clusters < needed or difference.standard_error is None:  # n measurements give no p below 2 / 2^n
        few = f"{counted(difference.clusters, 'measurement')} {'is' if difference.clusters == 1 else 'are'}"
        return f"{few} too few to decide anything here: at least {needed} are needed"
    normal = NormalDist()
    noticed = (normal.inv_cdf(1 - chance / 2) + normal.inv_cdf(_POWER)) * difference.standard_error
    if noticed <= allowed:
        return "the interval reaches beyond the tolerance"
    wanted = (
        "" if not allowed else f"; for the tolerance of {allowed:.2g} about {_enough(difference, noticed / allowed)}"
    )
    return f"{difference.clusters} measurements notice a change of about {noticed:.2g}{wanted}"


def _enough(difference: Interval, excess: float) -> str:
    return f"{int(np.ceil(difference.clusters * excess**2)):,} are needed".replace(",", " ")


def _notes(candidate: ScoreTable, baseline: ScoreTable, pairs: Mapping[str, CellPair]) -> list[str]:
    notes = circumstances(candidate, baseline)
    paired_cells = {pair.candidate for pair in pairs.values()}
    new = [candidate.cell_label(cell) for cell in candidate.cells() if cell not in paired_cells]
    if new:
        notes.append(f"{counted(len(new), 'cell')} only in the candidate, not judged: {'; '.join(new[:5])}")
    judged = [name for name in candidate.metrics if candidate.info(name).tolerance is not None]
    metrics = [name for name in judged if name not in baseline.metrics]
    if metrics:
        notes.append(f"only the candidate has {', '.join(metrics)}: not judged")
    for name, table in (("candidate", candidate), ("baseline", baseline)):
        unknown = table.without_digest
        if unknown:
            notes.append(f"{unknown} rows of the {name} carry no measurement digest: matched by id alone")
    return notes
