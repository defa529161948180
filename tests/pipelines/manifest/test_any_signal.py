"""Manifests of any signal: written from Python, read and shown by the same commands, hashed as pictures always were."""

import json
import re

import numpy as np
import pytest
import torch
from PIL import Image

from operators import InputError, build_operator, measure
from pipelines.console.options import item_seed
from pipelines.manifest import (
    Manifest,
    NothingBuiltError,
    SourceRow,
    build_row_operator,
    check_manifest,
    decode_truth,
    measurement,
    read_row,
    write_manifest,
)
from pipelines.manifest.schema import canonical_json, row_digest
from tests.second_signal.series import NAME as SIGNAL

OPERATOR = "tests.second_signal.series:Loudness"
FACTS = {
    "y": (np.arange(48, dtype=np.float32) / 7 - 3).reshape(3, 4, 4), "y_shape": [3, 4, 4], "x_shape": [3, 16, 16],
    "operator": "super_resolution", "operator_params": canonical_json({"factor": 4}), "sigma": 0.05,
    "prompt": "a photo of a frog", "seed": 12345678901234, "truth": b"truth's bytes", "signal": "image",
}  # fmt: skip


def series(length, seed=0):
    return torch.randn(length, 1, generator=torch.Generator().manual_seed(seed))


def rows_of(url):
    manifest = Manifest.open(url)
    table = manifest.fetch([(row["shard"], row["row"]) for batch in manifest.index() for row in batch.to_pylist()])
    return [read_row(table, number) for number in range(len(table))]


def sources(lengths=(5, 3, 5, 4), **changes):
    for number, length in enumerate(lengths):
        given = {"params": {"bend": 0.25}, "sigma": 0.1, "prompt": f"walk {number}", "label": "w"} | changes
        yield SourceRow(f"walk-{number}", series(length, number), OPERATOR, **given)


def test_digests_of_pictures_are_what_they_always_were():
    """Recorded before rows had a signal: results of earlier sweeps stay valid."""
    assert row_digest(FACTS) == "36bfe5fb35a119244a79d2eca759363d"
    assert row_digest(FACTS | {"truth": None}) == "56d2c31faef028114a4f345a71942a4a"
    assert row_digest(FACTS | {"signal": SIGNAL}) not in (row_digest(FACTS), row_digest(FACTS | {"signal": "other"}))


def test_a_signal_of_ones_own_needs_no_edit(tmp_path, g2d2):
    built = write_manifest(str(tmp_path / "m"), sources(), built={"made": "by a test"})
    summary = built.summary
    assert (summary.rows, summary.tasks, summary.signals, summary.without_truth) == (4, ["Loudness"], [SIGNAL], {})
    assert summary.built["made"] == "by a test"
    rows = rows_of(built.url)
    assert [row["id"] for row in rows] == [f"Loudness/walk-{number}" for number in range(4)]
    assert [(row["x_shape"], row["y_shape"]) for row in rows][:2] == [([5, 1], [5, 1]), ([3, 1], [3, 1])]
    for number, row in enumerate(rows):
        truth = series(row["x_shape"][0], number)
        operator = build_operator(OPERATOR, {"bend": 0.25}, x_shape=truth.shape)
        assert row["seed"] == item_seed(0, row["id"])
        assert (row["signal"], row["operator"], row["operator_params"]) == (SIGNAL, OPERATOR, '{"bend":0.25}')
        assert torch.equal(decode_truth(row), truth)
        assert torch.equal(measurement(row), measure(operator, truth[None], sigma=0.1, seeds=[row["seed"]])[0])
        assert build_row_operator(row).name == "Loudness"
    assert list(check_manifest(Manifest.open(built.url))) == []
    code, said, _ = g2d2("show", built.url, "--sheet", tmp_path / "sheet.png")
    assert code == 0
    assert re.search(rf"^signals +{re.escape(SIGNAL)}$", said, flags=re.MULTILINE)
    assert said.splitlines()[-4].endswith("  5x1  5x1")
    assert len(Image.open(tmp_path / "sheet.png").getcolors(10**6)) > 2


def test_what_cannot_be_stored_whole_is_rejected(tmp_path):
    """Beyond float32, in which series are stored."""
    large = SourceRow("large", torch.full((4, 1), 1e39, dtype=torch.float64), OPERATOR)
    built = write_manifest(str(tmp_path / "m"), [*sources(), large])
    assert [one.reason for one in built.rejected] == [
        "large: as it would be stored, it has 4 NaN or infinite values: every value must be finite."
    ]
    assert list(check_manifest(Manifest.open(built.url))) == []


def test_a_row_depends_on_itself_alone(tmp_path):
    whole = rows_of(write_manifest(str(tmp_path / "a"), sources()).url)
    few = rows_of(write_manifest(str(tmp_path / "b"), list(sources())[2:3]).url)
    assert few[0]["digest"] == whole[2]["digest"]
    again = write_manifest(str(tmp_path / "a"), sources())
    assert again.was_there
    with pytest.raises(InputError, match=r"holds another manifest .* --overwrite replaces it"):
        write_manifest(str(tmp_path / "a"), sources(sigma=0.2))
    assert not write_manifest(str(tmp_path / "a"), sources(sigma=0.2), overwrite=True).was_there


def test_pictures_through_the_same_door_have_the_same_digests(build, make_table, tmp_path):
    built = build(make_table(3), operator="gaussian_blur", params={"kernel_size": 5, "std": 1.0})
    wanted = [
        SourceRow(row["source"], decode_truth(row), "gaussian_blur", {"kernel_size": 5, "std": 1.0})
        for row in rows_of(built.url)
    ]
    assert write_manifest(str(tmp_path / "again"), wanted).summary.digest == built.summary.digest


def test_measurements_without_truth_are_counted_and_shown(tmp_path, g2d2):
    known = list(sources())
    unknown = [
        SourceRow("real-0", None, OPERATOR, y=torch.zeros(6, 1), x_shape=(6, 1)),
        SourceRow("real-1", None, OPERATOR, y=torch.ones(2, 1), x_shape=(2, 1), task="real"),
    ]
    manifest = Manifest.open(write_manifest(str(tmp_path / "m"), [*known, *unknown]).url)
    assert manifest.summary.without_truth == {"Loudness": 1, "real": 1}
    assert [manifest.truthless(task) for task in manifest.tasks] == [(1, 5), (1, 1)]
    rows = rows_of(manifest.url)
    assert rows[4]["truth"] is None
    assert measurement(rows[4]).tolist() == [[0.0]] * 6
    with pytest.raises(InputError, match=r"Loudness/real-0: it holds no ground truth"):
        decode_truth(rows[4])
    assert list(check_manifest(manifest)) == []
    code, said, _ = g2d2("show", manifest.url, "--sheet", tmp_path / "sheet.png")
    assert code == 0
    assert re.search(r"^without truth +2$", said, flags=re.MULTILINE)
    code, said, _ = g2d2("show", manifest.url, "--json")
    assert json.loads(said)["task_rows"] == {"Loudness": 5, "real": 1}


def test_what_cannot_be_used_costs_no_other(tmp_path):
    broken = series(4, 9)
    broken[1] = torch.inf
    bad = [
        SourceRow("a b", series(3), OPERATOR),
        SourceRow("", series(3), OPERATOR),
        SourceRow("walk-0", series(3), OPERATOR),
        SourceRow("broken", broken, OPERATOR),
        SourceRow("unknown", series(3), "blur"),
        SourceRow("odd", series(3), OPERATOR, {"bends": 1}),
        SourceRow("neither", None, OPERATOR),
        SourceRow("short", None, OPERATOR, y=torch.zeros(3, 1), x_shape=(4, 1)),
        SourceRow("noise", series(3), OPERATOR, y=torch.zeros(3, 1), sigma=-1.0),
        SourceRow("picture", series(3), OPERATOR, signal="image"),
    ]
    built = write_manifest(str(tmp_path / "m"), [*sources(), *bad])
    assert built.summary.rows == 4
    reasons = [one.reason for one in built.rejected]
    for reason, words in zip(
        reasons,
        [
            "a b: as an id, it may only hold letters",
            ": as an id, it is empty",
            "walk-0: its id belongs to an earlier one",
            "broken: as a truth, it has 1 NaN or infinite values",
            "operator is 'blur'",
            "unknown setting 'bends'",
            "neither: it has no truth, so its y and x_shape must be given",
            "the measurement batch has shape (1, 3, 1)",
            "noise: sigma is -1.0",
            f"picture: its signal is 'image' and Loudness measures '{SIGNAL}'",
        ],
        strict=True,
    ):
        assert words in reason
        assert "\n" not in reason
    assert [one.source for one in built.summary.rejected] == [one.id for one in bad]
    with pytest.raises(NothingBuiltError, match=r"rows: none of 1 could be used; first: a b: as an id"):
        write_manifest(str(tmp_path / "none"), bad[:1])
    assert not (tmp_path / "none").exists()


def test_pictures_are_not_measured_by_an_operator_of_another_signal(make_table, g2d2, tmp_path):
    code, _, errors = g2d2("build", make_table(1), tmp_path / "m", "--operator", OPERATOR)
    assert code == 2
    assert f"measures the signal '{SIGNAL}' and these are pictures" in errors


def test_an_operator_of_ones_own_measures_pictures(make_table, g2d2, tmp_path, monkeypatch):
    import sys

    from operators.registry import OPERATORS

    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(OPERATORS, "_found", {})
    monkeypatch.setenv("G2D2_MODULES", str(tmp_path))
    (tmp_path / "own_shades.py").write_text(
        "from operators import Operator, OperatorSettings\n\n\n"
        "class ShadeSettings(OperatorSettings):\n    share: float = 0.5\n\n\n"
        "class Shade(Operator):\n"
        "    settings_model = ShadeSettings\n\n"
        "    def _apply_forward(self, x):\n        return x * self.settings.share\n"
    )
    words = ["--operator", "own_shades:Shade", "--set", "share=0.25", "--sigma", "0"]
    code, said, _ = g2d2("build", make_table(2), tmp_path / "m", *words)
    assert code == 0
    assert "(Shade)" in said
    row = rows_of(str(tmp_path / "m"))[1]
    assert (row["id"], row["operator"], row["operator_params"]) == ("Shade/img-1", "own_shades:Shade", '{"share":0.25}')
    assert torch.equal(measurement(row), 0.25 * decode_truth(row))
    assert g2d2("check", tmp_path / "m")[0] == 0
