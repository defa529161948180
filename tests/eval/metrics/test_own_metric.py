"""A metric of one's own: one file, named `module:thing`, whose facts reach every scored table."""

import sys

import numpy as np
import pyarrow as pa
import pytest
import torch

from eval.gate import default_tolerances
from eval.metrics import (
    METRICS,
    Scored,
    ScoredRow,
    build_metric,
    check_metrics,
    metric_columns,
    metric_info,
    score_rows,
)
from eval.scores import ScoreTable, score_schema
from operators import InputError, build_operator
from tests.second_signal.series import NAME as SIGNAL

OPERATOR = "tests.second_signal.series:Loudness"
FLATNESS = '''
from torch import Tensor

from eval.metrics import RowMetric, Scored


class Flatness(RowMetric):
    """How little neighbours differ."""

    name = "flatness"
    direction = "lower"
    unit = "steps"
    summary = "mean absolute difference of neighbours"
    digits = 4
    tolerance = "5%"
    needs = ()

    def rows(self, truth: Tensor, x: Tensor, scored: Scored) -> Tensor:
        return x.diff(dim=1).abs().flatten(1).mean(1)
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes a module into the folder of one's own; returns its name."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(METRICS, "_found", {})
    monkeypatch.setenv("G2D2_MODULES", str(tmp_path))

    def write(content):
        name = f"own_{tmp_path.name}_{len(list(tmp_path.iterdir()))}".replace("-", "_")
        (tmp_path / f"{name}.py").write_text(content)
        return name

    return write


def path(length, seed):
    return torch.randn(length, 1, generator=torch.Generator().manual_seed(seed))


def row(length, seed, signal=SIGNAL, truth=True):
    x, operator = path(length, seed), build_operator(OPERATOR, x_shape=(length, 1))
    return ScoredRow(x, x.clone() if truth else None, operator, operator(x[None])[0], 0.1, f"row {seed}", signal)


def test_a_file_is_all_it_takes(own):
    name = f"{own(FLATNESS)}:Flatness"
    info = metric_info(name)
    assert (info.name, info.source, info.digits, info.needs) == ("flatness", name, 4, ())
    assert metric_columns([name, "psnr"]) == ["flatness", "psnr"]
    x = torch.rand(3, 3, 4, 4) * 2 - 1
    values = build_metric(name)(Scored(None, x))
    assert values.tolist() == pytest.approx(x.diff(dim=1).abs().flatten(1).mean(1).tolist())
    assert len(FLATNESS.strip().splitlines()) <= 30


def test_its_facts_travel_with_the_scores(own, tmp_path):
    name = f"{own(FLATNESS)}:Flatness"
    schema = score_schema([metric_info(name), metric_info("psnr"), "seconds"], {"task": pa.string()}, free=["gamma"])
    rows = [
        {"item": f"i{n}", "measurement": f"m{n}", "cell": "c", "seed": 0, "flatness": n, "psnr": 1.0} for n in range(3)
    ]
    (tmp_path / f"{name.partition(':')[0]}.py").unlink()  # reading needs no file of anyone's own
    table = ScoreTable(pa.Table.from_pylist(rows, schema=schema))
    info = table.info("flatness")
    assert (info.direction, info.unit, info.digits, info.summary) == (
        "lower", "steps", 4, "mean absolute difference of neighbours",
    )  # fmt: skip
    assert table.columns([name, "psnr", "ssim"]) == ["flatness", "psnr"]
    assert table.judged == ("flatness", "psnr")
    assert table.free == ("gamma",)
    assert table.only(["flatness"]).info("flatness") == table.only([name]).info("flatness") == info
    chosen = default_tolerances(table.metrics, info=table.info)
    assert {metric: str(tolerance) for metric, tolerance in chosen.items()} == {"flatness": "5%", "psnr": "0.1"}
    assert (chosen["flatness"].direction, table.info("seconds").unit) == ("lower", "s")


def test_rows_of_another_signal_and_of_several_lengths_are_scored_in_their_order(own):
    name = f"{own(FLATNESS)}:Flatness"
    rows = [row(5, 0), row(3, 1), row(5, 2, truth=False), row(3, 3)]
    metrics = [build_metric(name), build_metric("residual"), build_metric("residual_norm")]
    columns = score_rows(metrics, rows)
    assert columns["flatness"].tolist() == pytest.approx([float(one.x.diff(dim=0).abs().mean()) for one in rows])
    assert columns["residual_norm"].tolist() == pytest.approx([0.0] * 4, abs=1e-6)
    assert np.isfinite(columns["residual"]).all()
    alone = [float(score_rows(metrics, [one])["flatness"][0]) for one in rows]
    assert columns["flatness"].tolist() == alone


def test_a_row_without_truth_has_only_what_needs_none():
    images = torch.rand(2, 3, 16, 16) * 2 - 1
    identity = build_operator("identity", x_shape=(3, 16, 16))
    rows = [
        ScoredRow(x, truth, identity, x, 0.1, "key") for x, truth in zip(images, (images[0] * 0.9, None), strict=True)
    ]
    columns = score_rows([build_metric("psnr"), build_metric("residual")], rows)
    assert np.isnan(columns["psnr"]).tolist() == [False, True]
    assert np.isfinite(columns["residual"]).all()


def test_bad_rows_of_any_signal_spoil_only_themselves(own):
    metric = build_metric(f"{own(FLATNESS)}:Flatness")
    x = torch.stack([path(4, 0), path(4, 1), path(4, 2)])
    truth = x.clone()
    truth[1, 0, 0] = torch.inf
    x[2, 1, 0] = torch.nan
    values = metric(Scored(truth, x, signal=SIGNAL))
    assert torch.isnan(values).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('name = "flatness"', 'name = "flat ness"'), "has the name 'flat ness'"),
        (
            ('direction = "lower"', 'direction = "down"'),
            "has the direction 'down': it must be one of higher, lower, none",
        ),
        (('tolerance = "5%"', 'tolerance = "much"'), "has the tolerance 'much'"),
        (("needs = ()", 'needs = ("prompt",)'), "needs ('prompt',): it must be a tuple of truth, y, sigma, operator"),
        (("digits = 4", "digits = -1"), "has digits -1"),
        (("(RowMetric)", ""), "it must be a subclass of eval.metrics.base.RowMetric"),
    ],
)
def test_what_is_no_metric_is_refused_in_words(own, change, sentence):
    with pytest.raises(InputError) as caught:
        metric_info(f"{own(FLATNESS.replace(*change))}:Flatness")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_planning_refuses_what_could_not_be_measured(own):
    name = f"{own(FLATNESS)}:Flatness"
    assert check_metrics(["psnr", "residual", name]) == []
    assert check_metrics([name, "residual"], signal=SIGNAL, x_shape=(7, 1), truths_missing=4, total=4) == []
    assert check_metrics(["psnr"], signal="image", x_shape=(3, 8, 8), truths_missing=1, total=4) == [
        "metrics: psnr needs the ground truth, and 1 of 4 measurements have none: they will have no psnr"
    ]
    cases = {
        "psnr needs the ground truth, and 4 of 4 measurements have none; leave it out, or score with what needs none, "
        "such as residual": {"names": ["residual", "psnr"], "truths_missing": 4, "total": 4},
        f"ssim scores the signal image, and these measurements are of {SIGNAL}": {"names": ["ssim"], "signal": SIGNAL},
        "ssim needs images of at least 11x11 pixels, and these are 8x10": {
            "names": ["ssim"], "signal": "image", "x_shape": (3, 10, 8),
        },
        "is called 'flatness', which is the name of another column": {"names": [name], "columns": ["flatness"]},
        f"{name} and {name} are both called 'flatness'": {"names": [name, name]},
        "metric is 'psnrr' (did you mean 'psnr'?)": {"names": ["psnrr"]},
    }  # fmt: skip
    for sentence, given in cases.items():
        with pytest.raises(InputError) as caught:
            check_metrics(**given)
        assert sentence in str(caught.value)


def test_an_own_metric_cannot_take_the_name_of_ours(own):
    name = f"{own(FLATNESS.replace('flatness', 'psnr'))}:Flatness"
    with pytest.raises(InputError, match="is called 'psnr', which is the name of another column"):
        check_metrics([name])


def test_missing_weights_are_refused_before_anything_runs(monkeypatch):
    monkeypatch.setattr("eval.weights._places", lambda *_: iter(()))
    monkeypatch.delenv("G2D2_ALLOW_DOWNLOAD", raising=False)
    with pytest.raises(InputError, match="metrics: lpips_vgg cannot be measured here"):
        check_metrics(["psnr", "lpips_vgg"])
