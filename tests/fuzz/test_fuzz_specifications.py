"""Spoiled specifications of sweeps, as trees and as text, through `g2d2 plan`."""

import yaml

from tests.fuzz.cases import amounts, each_case
from tests.fuzz.mutations import ALIAS_BOMB, SECRET_ADDRESSES, spoiled, spoiled_text
from tests.fuzz.oracle import g2d2, no_secret_in
from tests.pipelines.sweep_cases import specification

ADDRESSES = [("manifest",), ("prior",), ("output",), ("tracking", "uri")]
SEEN = [
    {"seeds": [2**63]}, {"output": "~nouser/x"}, {"output": "file:///%00"}, {"output": "\ud800"},
    {"select": {"tasks": []}},
    {"grid": {"cross": {"eta_kl": {"log": [0.001, 1], "count": 10**9}}}},
    {"grid": {"cross": {name: {"range": [0.1, 1], "count": 1000} for name in ("eta_kl", "gamma", "learning_rate")}}},
    {"grid": {"cross": {"eta_kl": [0.1]}, "exclude": [{"eta_kl": -(10**400)}]}},
    {"resources": {"shard": 10**30}}, {"solver": {"settings": {"\x8e": 1}}},
    *({"tracking": {"uri": address}} for address in SECRET_ADDRESSES), {"prior": SECRET_ADDRESSES[-2]},
]  # fmt: skip
"""What once ended in a traceback, in all of the memory, or in a secret told."""


def whole(manifest, prior, output):
    """A specification in which every section says something."""
    return specification(
        manifest, prior, output,
        solver={"method": "g2d2", "preset": "paper", "settings": {"steps": 4, "iterations": 3, "guidance": 1}},
        grid={
            "cross": {"process": ["star", "markov"], "eta_kl": {"log": [0.001, 0.1], "count": 3}},
            "zipped": [{"gamma": [0.1, 0.2], "learning_rate": [1.0, 2.0]}],
            "exclude": [{"process": "star", "eta_kl": [0.001]}],
        },
        seeds=[0, 1], select={"tasks": None, "skip": 0, "limit": 2},
        keep={"floats": False, "traces": True, "snapshots_at": [1]},
        tracking={"enabled": False, "uri": None, "experiment": "e", "panels": 1},
        resources={"devices": 1, "batch": "auto", "shard": 5, "batch_timeout": "auto", "dtype": "float32"},
    )  # fmt: skip


@amounts(quick=120, slow=2000)
def test_spoiled_values(examples, manifest, tiny_prior, tmp_path):
    def check(values):
        (tmp_path / "spec.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
        g2d2("plan", "spec.yaml", "--no-calibration")
        no_secret_in(tmp_path / "out")

    valid = whole(manifest, tiny_prior, "out")
    each_case(examples, spoiled(valid, addresses=ADDRESSES), check, [valid | changes for changes in SEEN])


@amounts(quick=80, slow=1000)
def test_spoiled_text(examples, manifest, tiny_prior, tmp_path):
    def check(text):
        (tmp_path / "spec.yaml").write_text(text, encoding="utf-8", errors="surrogatepass")
        g2d2("plan", "spec.yaml", "--no-calibration")

    text = yaml.safe_dump(whole(manifest, tiny_prior, "out"), sort_keys=False)
    each_case(
        examples, spoiled_text(text), check, also=[ALIAS_BOMB, "", "[" * 3000, "name: 2026-02-30", "x: !!int foo"]
    )
