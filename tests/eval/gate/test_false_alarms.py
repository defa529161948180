"""Nights on which nothing changed: alarms are as rare as the confidence says. No tolerance helps here."""

import numpy as np
import pyarrow as pa
import pytest

from eval.gate import Tolerance, Verdict, compare
from eval.scores import ScoreTable

STRICT = {"psnr": Tolerance(direction="higher", absolute=0.0)}


def noise(kind, random, shape):
    """Solver noise of one run; heavy tails are what a few diverging images look like."""
    return random.normal(0, 0.5, shape) if kind == "normal" else 0.3 * random.standard_t(2, shape)


@pytest.mark.parametrize(("kind", "nights"), [("normal", 1000), ("heavy", 200)])
def test_one_cell_over_many_nights(arrow_scores, kind, nights):
    random = np.random.default_rng(0)
    hardness = random.normal(23, 3, 40)
    table = arrow_scores({"c": {"psnr": hardness}})
    column = table.column_names.index("psnr")

    def run():
        return ScoreTable(table.set_column(column, "psnr", pa.array(hardness + noise(kind, random, 40))))

    # both runs are new each night: a common baseline would make the nights depend on each other
    found = [compare(run(), run(), STRICT, resamples=400, seed=i).judgements[0].verdict for i in range(nights)]
    allowed, slack = 0.05 * nights, 3 * np.sqrt(0.05 * 0.95 * nights)
    changed = sum(verdict in (Verdict.REGRESSED, Verdict.IMPROVED) for verdict in found)
    assert allowed - slack < changed <= allowed + slack  # the test is exact, so alarms are not rarer either
    assert 0 < found.count(Verdict.REGRESSED) <= allowed


def test_a_grid_of_twenty_cells_over_thirty_nights(scores):
    random = np.random.default_rng(1)
    hardness = random.normal(23, 3, 40)

    def run():
        return scores({f"c{i}": {"psnr": hardness + noise("normal", random, 40)} for i in range(20)})

    failed = sum(not compare(run(), run(), STRICT, resamples=1000, seed=i).passed for i in range(30))
    assert failed <= 4  # 2.5 % of 30 is 0.75, and three standard errors; uncorrected it would be near 12
