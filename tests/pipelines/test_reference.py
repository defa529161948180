"""The pages made from the models: current, complete, and true to what the models accept."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from g2d2.settings import G2D2Settings
from pipelines.reference import settings_page, sweep_schema, write

ROOT = Path(__file__).parents[2]
SWEEPS = [path for path in sorted(ROOT.glob("examples/**/*.yaml")) if "manifest:" in path.read_text()]


@pytest.mark.parametrize("name", ["sweep.schema.json", "settings.md"])
def test_committed_pages_are_what_the_models_say(tmp_path, name):
    write(tmp_path)
    assert (ROOT / "docs" / name).read_text() == (tmp_path / name).read_text(), (
        "run `python -m pipelines.reference docs`"
    )


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_schema_accepts_the_examples(path):
    content = yaml.safe_load(path.read_text())
    if "sweep" in content:  # a nightly one names its sweep and the output itself
        content = content["sweep"] | {"name": content["name"], "output": content["output"]}
    jsonschema.validate(content, sweep_schema())


@pytest.mark.parametrize(
    "changes",
    [
        {"metrik": ["psnr"]},
        {"metrics": ["psnr", "beauty"]},
        {"solver": {"settings": {"eta": 1}}},
        {"solver": {"settings": {"eta_kl": -1}}},
        {"solver": {"preset": "paper", "experiment": "imagenet"}},
        {"grid": {"cross": {"eta": [1]}}},
        {"grid": {"points": [{"eta": 1}]}},
        {"resources": {"dtype": "int8"}},
    ],
    ids=str,
)
def test_schema_refuses_what_the_models_refuse(changes):
    good = {"name": "a", "manifest": "m", "prior": "p", "output": "o"}
    jsonschema.validate(good, sweep_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(good | changes, sweep_schema())


def test_page_names_every_solver_setting():
    page = settings_page()
    assert all(f"| `{name}` |" in page for name in G2D2Settings.model_fields)
