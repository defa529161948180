"""The pages made from the models: current, complete, and true to what the models accept."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from docs.generate import settings_page, sweep_schema, write
from g2d2.methods import METHODS, find_method

ROOT = Path(__file__).parents[2]
SWEEPS = [path for path in sorted(ROOT.glob("examples/**/*.yaml")) if "manifest:" in path.read_text()]


@pytest.mark.parametrize("name", ["sweep.schema.json", "settings.md"])
def test_committed_pages_are_what_the_models_say(tmp_path, name):
    write(tmp_path)
    assert (ROOT / "docs" / name).read_text() == (tmp_path / name).read_text(), "run `python docs/generate.py`"


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
        {"solver": {"method": "wiener", "settings": {"eta_kl": 0.1}}},
        {"arms": {"a": {"method": "wiener", "grid": {"cross": {"eta_kl": [1]}}}}},
        {"arms": {"a": {"method": "weiner"}}},
        {"resources": {"dtype": "int8"}},
    ],
    ids=str,
)
def test_schema_refuses_what_the_models_refuse(changes):
    good = {"name": "a", "manifest": "m", "prior": "p", "output": "o"}
    jsonschema.validate(good, sweep_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(good | changes, sweep_schema())


def test_page_names_every_setting_of_every_method():
    page = settings_page()
    for name in METHODS.names():
        settings = find_method(name).Settings
        free = settings.free_fields()
        assert all(f"| `{field}`{' •' if field in free else ''} |" in page for field in settings.model_fields)
