"""What short trials of one cell say of the others."""

import pytest

from pipelines.plan import calibration
from pipelines.plan.calibration import estimate
from pipelines.plan.planning import make_plan
from pipelines.plan.readiness import check_solving
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.sweep_cases import specification

PASS, DECODER = 3.0, 0.5
"""Seconds of a batch."""


@pytest.mark.parametrize("scales", [[1.0, 5.0], [5.0, 1.0]])
def test_a_pass_costs_the_same_whichever_guidance_was_tried(scales, small_manifest, tiny_prior, tmp_path, monkeypatch):
    def run(self, settings, place):
        passes = settings.steps * (1 if settings.guidance in (0, 1) else 2)
        return PASS * passes + DECODER * settings.steps * settings.iterations, 1

    monkeypatch.setattr(calibration._Trial, "_run", run)
    values = specification(small_manifest, tiny_prior, tmp_path / "o", grid={"cross": {"guidance": scales}})
    spec = SweepSpec.model_validate(values)
    plan = make_plan(spec, SweepFolder(spec.output))
    cost = estimate(spec, plan, check_solving(spec, plan.cells).solvable)
    own = {cell.settings["guidance"]: (cell.settings, cost.seconds.by_cell[cell.id][1]) for cell in plan.cells}
    assert set(own) == {1.0, 5.0}
    for guidance, (settings, seconds) in own.items():
        passes = settings["steps"] * (1 if guidance == 1 else 2)
        decoded = settings["steps"] * settings["iterations"]
        assert seconds == pytest.approx((PASS * passes + DECODER * decoded) / cost.rows)
