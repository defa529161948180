"""Hours and money of devices that are not there, from measured figures or from the paper's."""

import json

import pytest
import torch

from bench import gpu_row
from g2d2.methods.g2d2 import G2D2
from g2d2.priors import load_prior
from operators import InputError, build_operator
from pipelines.plan.cells import Cell
from pipelines.plan.cluster_cost import bench_seconds, other_sizes, paper_seconds, parse_price, read_bench
from pipelines.plan.sweep_spec import Resources

ROW = {"way": "eager", "batch": 4, "pass_seconds": 0.2, "decoder_seconds": 0.1, "error": None}
BENCH = {
    "bench": "gpu",
    "shape": "ithq",
    "device": "A100",
    "rows": [
        ROW | {"seconds_per_image": 80.0, "low": 72.0, "high": 100.0},
        ROW | {"batch": 1, "seconds_per_image": 120.0, "low": 110.0, "high": 130.0},
        {"way": "graphs", "batch": 1, "seconds_per_image": None, "error": "RuntimeError: no"},
    ],
}


def cell(id="id", method="g2d2", prior="cifar10", **changes):
    return Cell(0, id, "recipe", "task", "arm", method, prior, G2D2().settings(**changes).model_dump())


@pytest.fixture
def bench(tmp_path):
    (tmp_path / "gpu.json").write_text(json.dumps(BENCH))
    return tmp_path / "gpu.json"


def test_a_measured_file_gives_seconds_by_calls_with_the_range_of_its_rounds(bench):
    cells = [cell("long", steps=100, iterations=30), cell("short", steps=10, iterations=10)]
    seconds = bench_seconds(cells, bench, Resources(batch=4))
    low, about, high = seconds.total({"long": 10, "short": 3})
    assert about == pytest.approx((10 * (200 * 0.2 + 3000 * 0.1) + 3 * (20 * 0.2 + 100 * 0.1)) / 4)
    assert (low / about, high / about) == pytest.approx((0.9, 1.25))
    assert "ithq on A100, eager in batches of 4" in seconds.source


def test_a_race_is_priced_in_batches_of_a_round_at_most(bench):
    seconds = bench_seconds([cell()], bench, Resources(batch=4), raced=3)
    assert "eager in batches of 1" in seconds.source
    assert "race.round x seeds: 4 would take 0.67 times as long" in seconds.source


def passes_charged(bench, prior="cifar10", prompts=None, **settings):
    """Of one row, from its seconds: a batch of four at 0.2 s a pass and 0.1 s a call of the decoder."""
    seconds = bench_seconds([cell(prior=prior, **settings)], bench, Resources(batch=4), prompts).total({"id": 1})[1]
    return (4 * seconds - settings["steps"] * settings["iterations"] * 0.1) / 0.2


def test_guidance_is_charged_a_second_pass_and_its_absence_is_not(bench):
    charged = {guidance: passes_charged(bench, steps=8, iterations=2, guidance=guidance) for guidance in (0, 1, 5)}
    assert charged == pytest.approx({0: 8, 1: 8, 5: 16})


@pytest.mark.parametrize("prior", ["cifar10", "cifar10-masked"])
@pytest.mark.parametrize("prompt", ["", "a photo of a frog"])
@pytest.mark.parametrize("guidance", [0, 1, 5])
def test_passes_are_charged_as_the_solver_takes_them(bench, prior, prompt, guidance):
    """Without a prompt a masked image model has nothing to be guided by, while VQ-Diffusion still takes both passes."""
    settings = {"steps": 2, "iterations": 1, "guidance": guidance}
    operator = build_operator("super_resolution", {"factor": 4}, x_shape=(3, 32, 32))
    y = operator(torch.zeros(1, 3, 32, 32))
    solution = G2D2().run(load_prior(prior), operator, y, G2D2().settings(**settings), prompts=prompt, seeds=[0])
    assert passes_charged(bench, prior, {"task": prompt}, **settings) == pytest.approx(int(solution.prior_calls))


def way(name, batch, seconds):
    return ROW | {"way": name, "batch": batch, "seconds_per_image": seconds, "low": seconds, "high": seconds} | {
        "pass_seconds": 0.0, "decoder_seconds": seconds * batch / 3000,
    }  # fmt: skip


WAYS = [
    way("eager", 1, 100.0), way("eager", 4, 80.0), way("eager", 16, 70.0), way("eager", 64, 60.0),
    way("channels-last", 4, 65.0), way("compiled", 8, 50.0), way("bf16", 8, 40.0), way("bf16-compiled", 32, 20.0),
    way("graphs", 4, 30.0), way("bf16-graphs", 64, 5.0), way("bf16-telepathy", 64, 1.0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("resources", "seconds"),
    [
        ({}, 70.0),  # a shard of 16
        ({"shard": 64}, 60.0),
        ({"batch": 8}, 80.0),
        ({"batch": 2}, 100.0),
        ({"channels_last": True}, 65.0),
        ({"compile": True}, 50.0),
        ({"compile": "graphs"}, 30.0),
        ({"dtype": "bfloat16"}, 40.0),
        ({"dtype": "bfloat16", "compile": True, "shard": 32}, 20.0),
        ({"dtype": "bfloat16", "compile": "graphs", "shard": 64}, 5.0),
    ],
)
def test_the_row_is_that_of_what_the_sweep_runs(tmp_path, resources, seconds):
    (file := tmp_path / "gpu.json").write_text(json.dumps(BENCH | {"rows": WAYS}))
    found = bench_seconds([cell(steps=100, iterations=30)], file, Resources(**resources))
    assert found.total({"id": 1})[1] == pytest.approx(seconds)
    advised = "dtype: bfloat16, compile: graphs, batch: 64" in found.source
    assert advised == (seconds > 5)
    assert "telepathy" not in found.source  # no sweep has it
    if resources == {}:
        assert found.source.endswith("batch: 64, shard: 64 would take 0.071 times as long")


def test_a_sweep_can_run_whatever_is_measured(tmp_path):
    for measured in gpu_row.WAYS.values():
        (file := tmp_path / "gpu.json").write_text(json.dumps(BENCH | {"rows": [way(measured.name, 4, 5.0)]}))
        dtype = str(measured.dtype).removeprefix("torch.")
        resources = Resources(dtype=dtype, compile=measured.compile, channels_last=measured.channels_last)
        assert bench_seconds([cell()], file, resources).source.count(f"{measured.name} in batches of 4") == 1


@pytest.mark.parametrize(
    ("resources", "sentence"),
    [
        (
            {"dtype": "float16"},
            "no row of float16, in which the sweep runs; it has eager, channels-last, compiled, bf16",
        ),
        ({"compile": True, "channels_last": True}, "no row of float32 with compile with channels_last"),
        ({"compile": "graphs", "channels_last": True}, "no row of float32 with compile: graphs with channels_last"),
        ({"compile": True, "batch": 4}, "in batches of at most 4, as resources say .batch, shard.; the smallest has 8"),
    ],
)
def test_what_was_not_measured_has_no_price(tmp_path, resources, sentence):
    (file := tmp_path / "gpu.json").write_text(json.dumps(BENCH | {"rows": WAYS}))
    with pytest.raises(InputError, match=sentence):
        bench_seconds([cell()], file, Resources(**resources))


def test_without_a_file_the_papers_figure_is_the_most():
    seconds = paper_seconds([cell(steps=100, iterations=30)])
    low, about, high = seconds.total({"id": 1000})
    assert high == pytest.approx(194_000)
    assert low < about < high
    assert "no GPU was measured" in seconds.source


def test_other_methods_are_not_priced_as_g2d2(bench):
    cells = [cell(steps=100, iterations=30), cell("filter", "wiener", "")]
    alone = paper_seconds(cells[:1]).total({"id": 5})
    for seconds in (paper_seconds(cells), bench_seconds(cells, bench, Resources())):
        assert seconds.uncovered(cells, {"id": 5, "filter": 7}) == {"wiener": 7}
    assert paper_seconds(cells).total({"id": 5, "filter": 7}) == alone
    with pytest.raises(InputError, match="of g2d2 alone, and the sweep has none of it but wiener"):
        paper_seconds(cells[1:])


def test_images_of_another_size_than_was_measured_are_named(bench, tmp_path):
    (small := tmp_path / "small.json").write_text(json.dumps(BENCH | {"x_shape": [3, 32, 32]}))
    for file in (None, bench):
        (sentence,) = other_sizes([cell()], file)
        assert "256x256" in sentence
        assert "prior cifar10 makes is 32x32" in sentence
    assert other_sizes([cell()], small) == []


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (BENCH | {"rows": BENCH["rows"][2:]}, "no row that was measured"),
        (BENCH | {"rows": [ROW | {"seconds_per_image": 0.0, "low": 0.0, "high": 0.0}]}, "seconds_per_image"),
        (BENCH | {"rows": 5}, "no file that"),
        (BENCH | {"rows": [5]}, "no file that"),
        ({"rows": []}, "no file that"),
        ([1, 2], "no file that"),
        (3, "no file that"),
    ],
)
def test_json_of_another_kind_is_refused_in_a_sentence(content, sentence, tmp_path):
    (tmp_path / "odd.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=sentence):
        read_bench(tmp_path / "odd.json")


def test_files_that_are_none_are_refused(tmp_path):
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(InputError, match=r"cannot be read .No such file|cannot be read .Is a directory"):
            read_bench(path)
    (tmp_path / "text").write_text("seconds: 3")
    with pytest.raises(InputError, match="no file that"):
        read_bench(tmp_path / "text")


def test_prices():
    assert (parse_price("2.1/h"), parse_price("3")) == (2.1, 3.0)
    for text in ("2.1/day", "-1", "abc", "nan", "9" * 400):
        with pytest.raises(InputError, match=r"write it as 2\.1/h"):
            parse_price(text)
