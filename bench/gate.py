"""What the regression gate notices: nights with a planted change in PSNR, how often each verdict falls.

Not a matter of speed, but of the same kind: a property that is measured, by a command that anyone can run again.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from bench.registry import Effort, Ratio, stands_for
from eval.gate import Tolerance, Verdict, compare
from eval.scores import ScoreTable, score_schema

_NIGHTS = {"quick": 5, "normal": 200, "full": 1000}
_CHANGES = (0.0, -0.05, -0.1, -0.2, -0.3)
_IMAGES, _SOLVER_NOISE, _TOLERANCE = 128, 0.5, 0.1


@stands_for(
    Ratio("false alarms a night", "share", 0.05, "lower", where={"change_db": 0.0}),
    Ratio("losses of 0.2 dB noticed", "share", 0.8, where={"change_db": -0.2}),
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """One row per true change in dB; `stricter` counts nights whose whole interval lies beyond the tolerance."""
    random = np.random.default_rng(5)
    truth = random.normal(23, 3, _IMAGES)
    tolerances = {"psnr": Tolerance(direction="higher", absolute=_TOLERANCE)}
    rows = []
    for change in _CHANGES:
        regressed = stricter = 0
        for night in range(_NIGHTS[effort.level]):
            before, after = (
                _scores(truth + shift + random.normal(0, _SOLVER_NOISE, _IMAGES)) for shift in (0.0, change)
            )
            judgement = compare(after, before, tolerances, resamples=1000, seed=night).judgements[0]
            regressed += judgement.verdict is Verdict.REGRESSED
            high = judgement.difference.high if judgement.difference is not None else None
            stricter += high is not None and high < -_TOLERANCE
        nights = _NIGHTS[effort.level]
        rows.append(
            {
                "change_db": change,
                "nights": nights,
                "regressed": regressed,
                "share": regressed / nights,
                "stricter": stricter,
            }
        )
    return rows


def _scores(values: Any) -> ScoreTable:
    rows = [
        {"item": f"i{index}", "measurement": f"m{index}", "measurement_digest": f"d{index}", "cell": "c", "seed": 0,
         "error": None, "psnr": float(value)}
        for index, value in enumerate(values)
    ]  # fmt: skip
    return ScoreTable(pa.Table.from_pylist(rows, schema=score_schema(["psnr"], {})))
