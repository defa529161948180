"""Odd values of solver settings: refused, or solved with numbers that are numbers."""

import json
import math
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from g2d2.methods.g2d2_settings import G2D2Settings
from tests.fuzz.cases import amounts, each_case
from tests.fuzz.mutations import ODD_NUMBERS, ODD_STRINGS
from tests.fuzz.odd_pictures import OPERATOR, picture
from tests.fuzz.oracle import g2d2

VALUES = [*ODD_NUMBERS, "", "nan", "inf", "true", "star", "markov", "1e400", "9" * 5000, *ODD_STRINGS[:8]]
COUNTS = {"steps": VALUES, "iterations": [-1, 0, 1, 2, 0.5, "nan", ""]}
"""Of iterations only a few: any number of them is allowed, and takes its time."""


@st.composite
def changes(draw):
    """Settings and odd values for them."""
    names = draw(st.lists(st.sampled_from(sorted(G2D2Settings.model_fields)), min_size=1, max_size=3, unique=True))
    return {name: draw(st.sampled_from(COUNTS.get(name, VALUES))) for name in names}


@amounts(quick=40, slow=1000)
def test_solver_settings(examples, tiny_prior, tmp_path):
    (tmp_path / "a.png").write_bytes(picture())
    usual = {"steps": 2, "iterations": 1, "guidance": 1}

    def check(chosen):
        words = [f"{name}={value}" for name, value in (usual | chosen).items()]
        done = g2d2("solve", "a.png", "--prior", tiny_prior, "--out", "solved", "--again", *OPERATOR, *words)
        if done.code == 0:
            summary = json.loads(Path("solved", "a.json").read_text())
            assert all(math.isfinite(value) for value in summary.values() if isinstance(value, float))
            with np.load("solved/a-trace.npz") as trace:
                assert all(np.isfinite(trace[name]).all() for name in trace.files if trace[name].dtype.kind == "f")

    each_case(examples, changes(), check, also=[{"learning_rate": 1e308}, {"eta_kl": 1e308}])
