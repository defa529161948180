"""Spoiled nightly specifications, and folders of nights that were tampered with."""

import pytest
import yaml

from tests.fuzz.cases import amounts, each_case
from tests.fuzz.mutations import spoiled, spoiled_text
from tests.fuzz.oracle import g2d2, no_secret_in
from tests.fuzz.tampering import tampered, tamperings
from tests.pipelines.nightly.hand_solved import HandSolved
from tests.pipelines.nightly.night_cases import reading, tiny_nightly
from tests.pipelines.sweep_cases import run, specification

ADDRESSES = [("output",), ("webhook",), ("sweep", "manifest"), ("sweep", "tracking", "uri")]


def nightly(manifest, prior):
    sweep = specification(manifest, prior, "unused", tracking={"enabled": False, "uri": None})
    return {
        "name": "tiny",
        "output": "nights",
        "sweep": {key: value for key, value in sweep.items() if key not in ("name", "output")},
        "tolerances": {"psnr": 0.1, "residual": {"direction": "lower", "relative": 0.05}},
        "confidence": 0.95,
        "speed": "25%",
        "memory": 0.1,
        "nights": 30,
        "keep_nights": 14,
        "webhook": "G2D2_WEBHOOK",
    }


@amounts(quick=60, slow=1500)
def test_spoiled_values(examples, manifest, tiny_prior, tmp_path):
    def check(values):
        (tmp_path / "night.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
        g2d2("nightly", "history", "night.yaml")
        no_secret_in(tmp_path / "nights")

    each_case(examples, spoiled(nightly(manifest, tiny_prior), addresses=ADDRESSES), check)


@amounts(quick=30, slow=500)
def test_spoiled_text(examples, manifest, tiny_prior, tmp_path):
    def check(text):
        (tmp_path / "night.yaml").write_text(text, encoding="utf-8", errors="surrogatepass")
        g2d2("nightly", "history", "night.yaml")

    each_case(examples, spoiled_text(yaml.safe_dump(nightly(manifest, tiny_prior), sort_keys=False)), check)


@pytest.fixture(scope="module")
def nights(tiny_prior, tmp_path_factory):
    """An accepted night and one after it, solved by hand; so are those that a test adds."""
    folder = tmp_path_factory.mktemp("nights")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipelines.nightly.night.run_sweep", HandSolved())
        patch.setattr("pipelines.nightly.night.calibrate", lambda _: [reading(0.1)])
        spec = tiny_nightly(folder, tiny_prior, pictures=3)
        assert run("nightly", spec, "--night", "first") == 0
        assert run("nightly", "accept", spec, "--night", "first", "--reason", "a start") == 0
        assert run("nightly", spec, "--night", "second") == 0
        yield folder / "out", spec


@amounts(quick=15, slow=600)
def test_tampered_nights(examples, nights, tmp_path):
    whole, spec = nights
    (tmp_path / "night.yaml").write_text(yaml.safe_dump(yaml.safe_load(spec.read_text()) | {"output": "nights"}))

    def check(case):
        tampered(whole, "nights", case)
        g2d2("nightly", "history", "night.yaml")
        g2d2("nightly", "accept", "night.yaml", "--night", "second", "--reason", "because")
        g2d2("nightly", "night.yaml", "--night", "third")

    each_case(examples, tamperings(whole, leave=[".html", ".md", ".xml"]), check)
