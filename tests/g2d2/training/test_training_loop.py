"""Budget, plain progress lines and checkpoints of the shared loop, with a stage that only counts."""

import time
from pathlib import Path
from typing import Any

import pytest
import torch

from g2d2.training.loop import run_stage
from g2d2.training.settings import StageLimits


class Counter:
    name = "counter"

    def __init__(self) -> None:
        self.fractions: list[float] = []

    def step(self, index: int, fraction: float) -> dict[str, float]:
        time.sleep(0.005)
        self.fractions.append(fraction)
        return {"loss": 1.0 / (index + 1)}

    def report(self) -> dict[str, float]:
        return {"held_out": 0.5}

    def state(self) -> dict[str, Any]:
        return {"count": torch.tensor(len(self.fractions))}

    def load(self, state: dict[str, Any]) -> None:
        self.fractions = [0.0] * int(state["count"])


def test_minutes_end_the_stage_and_drive_the_fraction(tmp_path: Path) -> None:
    stage = Counter()
    run_stage(stage, StageLimits(minutes=0.1 / 60), tmp_path)
    assert 3 <= len(stage.fractions) <= 25
    assert stage.fractions == sorted(stage.fractions)
    assert stage.fractions[-1] < 1


def test_a_finished_stage_is_not_run_again_and_a_larger_budget_continues(tmp_path: Path) -> None:
    run_stage(Counter(), StageLimits(minutes=60, steps=4), tmp_path)
    again = Counter()
    assert run_stage(again, StageLimits(minutes=60, steps=4), tmp_path)[-1]["step"] == 4
    assert len(again.fractions) == 4
    history = run_stage(Counter(), StageLimits(minutes=60, steps=6), tmp_path)
    assert [row["step"] for row in history] == [4, 6]


def test_without_a_terminal_progress_is_plain_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_stage(Counter(), StageLimits(minutes=60, steps=4, report_every=2), tmp_path)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "\r" not in "".join(lines)
    assert "held_out=0.5" in lines[-1]


def test_no_partial_checkpoint_is_left(tmp_path: Path) -> None:
    run_stage(Counter(), StageLimits(minutes=60, steps=2, save_every_seconds=0), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["counter.ckpt"]


def test_processor_minutes_leave_out_what_others_had_of_the_cores(tmp_path: Path) -> None:
    history = run_stage(Counter(), StageLimits(minutes=60, steps=20, clock="processor"), tmp_path)
    assert history[-1]["seconds"] < 0.5 * 20 * 0.005  # the counter sleeps, as a process that waits its turn
