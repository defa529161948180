"""The paper's experiments: every specification fits the appendix, every row finds its cell, a mini runs through."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
import yaml
from PIL import Image

from eval.distribution import CellDistance
from eval.paper import paper_results
from eval.scores import ScoreTable, score_schema
from g2d2.methods import find_method
from g2d2.methods.g2d2 import G2D2
from g2d2.priors import prior_digest
from g2d2.priors.catalog import CATALOG, EMBEDDED
from g2d2.priors.locating import locate_prior
from g2d2.priors.sized_sources import split_size
from operators import InputError
from pipelines.manifest import BuildSettings, Manifest, build_manifest
from pipelines.paper import Swept, build_table, find_experiments, to_latex, to_markdown, to_record
from pipelines.paper.experiments import Printed
from pipelines.paper.running import dataset_of, moved, prepare_minis
from pipelines.paper.uninformed import write_uninformed
from pipelines.plan.cells import PlannedPrior, expand_cells
from pipelines.plan.selected_rows import select_places
from pipelines.score.stored_sweep import StoredSweep
from tests.pipelines.sweep_cases import run

EXAMPLES = Path(__file__).parents[3] / "examples" / "paper"
EXPERIMENTS = {experiment.name: experiment for experiment in find_experiments(EXAMPLES)}
FULL = {
    f"{name}/{stem}": spec
    for name, one in EXPERIMENTS.items()
    for stem, spec in {**one.full, **one.full_figures}.items()
}
MINIS = {
    f"{name}/{stem}": spec
    for name, one in EXPERIMENTS.items()
    for stem, spec in {**one.minis, **one.mini_figures}.items()
}
PRIOR = EMBEDDED / "cifar10-vq"

APPENDIX = {  # learning rate, lambda of its schedule, guidance; eta_kl, lambda_kl, gamma, iterations and T are shared
    "imagenet-sr4": (10.0, 1.0, 5.0),
    "imagenet-gaussian-deblur": (15.0, 1.0, 5.0),
    "ffhq-sr4": (10.0, 2.0, 3.0),
    "ffhq-gaussian-deblur": (15.0, 1.0, 3.0),
}


@pytest.fixture(scope="module")
def manifests(tmp_path_factory):
    """One picture of each size under both tasks: what the full and the small specifications select from."""
    folder = tmp_path_factory.mktemp("stand-in")
    made = {}
    for size in (256, 32):
        (folder / str(size)).mkdir()
        Image.new("RGB", (size, size), (90, 120, 60)).save(folder / str(size) / "grey.png")
        tasks = (f"sr4-{size}", f"gaussian-deblur-{size}")
        build_manifest(BuildSettings(source=str(folder / str(size)), tasks=tasks), str(folder / f"m{size}"))
        made[size] = Manifest.open(str(folder / f"m{size}"))
    return made


def cells_of(spec, manifest):
    tasks = list(dict.fromkeys(select_places(spec, manifest)["task"].to_pylist()))
    return cells_on(spec, tasks, PRIOR)


def cells_on(spec, tasks, prior):
    """Cells of a specification as if all its priors were this one."""
    planned = PlannedPrior(locate_prior(prior), "0" * 32)
    names = [arm.prior for arm in spec.all_arms().values() if arm.prior is not None]
    return expand_cells(spec, tasks, dict.fromkeys(names, planned))


@pytest.mark.parametrize("name", FULL)
def test_a_full_specification_runs_its_experiment_on_its_task(name, manifests):
    spec = FULL[name]
    cells = cells_of(spec, manifests[256])
    (experiment,) = {arm.experiment for arm in spec.all_arms().values()} - {None}
    assert {cell.task for cell in cells} == {experiment.partition("-")[2] + "-256"}
    assert spec.manifest.endswith(dataset_of(spec))
    assert spec.resources.dtype == ("float16" if spec.solver.experiment else "float32")


@pytest.mark.parametrize("experiment", APPENDIX)
def test_the_main_tables_have_the_appendix_settings(experiment, manifests):
    star, markov = cells_of(FULL[f"main/{experiment}"], manifests[256])
    assert (star.settings["process"], markov.settings["process"]) == ("star", "markov")
    for settings in (star.settings, markov.settings):
        rate, lambda_lr, guidance = APPENDIX[experiment]
        assert (settings["learning_rate"], settings["lambda_lr"], settings["guidance"]) == (rate, lambda_lr, guidance)
        shared = [settings[name] for name in ("eta_kl", "lambda_kl", "gamma", "iterations", "steps", "temperature")]
        assert shared == [0.0003, 2.0, 0.3, 30, 100, 1.0]
        assert (settings["optimizer"], settings["likelihood"]) == ("radam", "norm")


@pytest.mark.parametrize("experiment", APPENDIX)
def test_the_main_tables_have_all_six_rows_over_the_same_measurements(experiment, manifests):
    ours, others = FULL[f"main/{experiment}"], FULL[f"main/{experiment}-continuous"]
    assert (others.manifest, others.output, others.select) == (ours.manifest, ours.output, ours.select)
    assert (others.metrics, others.distribution) == (ours.metrics, ours.distribution)
    cells = {cell.method: cell for cell in cells_of(others, manifests[256])}
    assert list(cells) == ["dps", "ddrm", "psld", "resample"]
    data = experiment.partition("-")[0]
    assert {cells[name].prior for name in ("dps", "ddrm")} == {f"priors/adm-{data}"}
    assert cells["psld"].prior == "sd15@256"
    for name, cell in cells.items():
        zeta = {"zeta": 0.4 if experiment == "imagenet-gaussian-deblur" else 1.0} if name == "dps" else {}
        assert cell.settings == find_method(name).settings("paper", **zeta).model_dump()
    assert {name: cell.settings["steps"] for name, cell in cells.items()} == {
        "dps": 1000, "ddrm": 20, "psld": 1000, "resample": 500,
    }  # fmt: skip
    assert {cell.settings["guidance"] for cell in cells.values()} == {0.0}


@pytest.mark.parametrize("experiment", APPENDIX)
def test_the_priors_of_the_other_rows_are_known_or_have_a_recipe(experiment):
    recipes = (EXAMPLES / "README.md").read_text()
    for arm in FULL[f"main/{experiment}-continuous"].all_arms().values():
        source, size = split_size(arm.prior)
        if source.startswith("priors/"):
            assert f"`{source}`" in recipes or f"--out {source}\n" in recipes
            continue
        known = CATALOG[source]
        assert known.family == ("latent_diffusion" if arm.method in ("psld", "resample") else "pixel_diffusion")
        assert (size or (known.image_size, known.image_size)) == (256, 256)


@pytest.mark.parametrize("experiment", APPENDIX)
def test_cells_that_two_experiments_name_are_one(experiment, manifests):
    """They share an output, so that they are solved once."""
    main = FULL[f"main/{experiment}"]
    star = cells_of(main, manifests[256])[0]
    for name in ("published-settings", "text-conditioning", "star-against-markov"):
        other = FULL[f"{name}/{experiment}"]
        assert other.output == main.output
        assert star.recipe in {cell.recipe for cell in cells_of(other, manifests[256])}


def test_the_published_code_is_run_as_it_is_published(manifests):
    star, shipped, _ = cells_of(FULL["published-settings/imagenet-sr4"], manifests[256])
    assert shipped.settings == G2D2().settings("reference", "imagenet-sr4").model_dump()
    assert star.settings == shipped.settings | {"process": "star"}


@pytest.mark.parametrize("name", MINIS)
def test_a_mini_fits_the_embedded_prior(name, manifests):
    spec = MINIS[name]
    assert spec.select.limit <= 32
    for cell in cells_of(spec, manifests[32]):
        assert spec.solver.method != "g2d2" or (cell.settings["steps"], cell.settings["iterations"]) == (20, 10)


def test_the_papers_figures_have_a_full_and_a_small_specification_that_keep_traces(manifests):
    drawn = [one for one in EXPERIMENTS.values() if one.full_figures or one.mini_figures]
    assert [one.name for one in drawn] == ["forget-coefficient", "star-against-markov", "text-conditioning"]
    for one in drawn:
        (full,), (mini,) = one.full_figures.values(), one.mini_figures.values()
        assert full.keep.traces
        assert mini.keep.traces
        assert bool(full.keep.snapshots_at) == bool(mini.keep.snapshots_at)
        assert full.grid.names() == mini.grid.names()
        assert mini.output not in {spec.output for spec in one.minis.values()}  # those are kept without traces


def swept(spec, manifest, dataset, shift, images=24):
    """Scores as a sweep would give them: noise, and `shift` by the cell's settings."""
    random = np.random.default_rng(0)
    parameters = dict.fromkeys(("task", "arm", "method", "prior"), pa.string()) | {
        name: {float: pa.float64(), int: pa.int64(), str: pa.string()}[type(value)]
        for arm in spec.all_arms().values()
        for name, value in arm.load_method().settings().model_dump().items()
    }
    metrics = [*spec.metrics, "seconds", "peak_bytes"]
    rows = []
    for cell in cells_of(spec, manifest):
        for image in range(images):
            name = f"{cell.task}/{image}"
            fixed = {"item": f"{cell.id}{image}", "measurement": name, "measurement_digest": name, "cell": cell.id}
            values = {metric: 20 + image + 0.1 * random.normal() + shift(cell.settings, metric) for metric in metrics}
            known = {name: getattr(cell, name) for name in ("task", "arm", "method", "prior")}
            rows.append(fixed | {"seed": 0, "error": None} | known | cell.settings | values)
    table = pa.Table.from_pylist(rows, schema=score_schema(metrics, parameters))
    return Swept(StoredSweep(None, spec, {}, None, ScoreTable(table), "", distances={}), dataset)


def built(name, manifests, shift=lambda settings, metric: 0.0, full=False):
    experiment = EXPERIMENTS[name]
    specs = experiment.full if full else experiment.minis
    dataset = (lambda spec: dataset_of(spec)) if full else (lambda spec: "cifar10")
    manifest = manifests[256 if full else 32]
    return build_table(experiment, [swept(spec, manifest, dataset(spec), shift) for spec in specs.values()])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_row_and_contrast_finds_its_cells(name, manifests):
    small, full = built(name, manifests), built(name, manifests, full=True)
    rows = {row.label for row in EXPERIMENTS[name].table.rows}
    assert {entry.row for entry in (*small.ours, *full.ours)} == rows
    contrasts = {(contrast.a, contrast.b) for contrast in EXPERIMENTS[name].table.contrasts}
    assert {(one.a, one.b) for one in (*small.differences, *full.differences)} == contrasts - {("G2D2", "no prior")} | {
        (one.a, one.b) for one in small.differences
    }
    for table in (small, full):
        text = to_markdown(table)
        assert all(entry.row in text for entry in table.ours)
        assert to_latex(table).count(r"\\") > len({entry.row for entry in table.ours})
        json.dumps(to_record(table))
    assert "other prior, other data" in to_markdown(small) or not small.theirs
    assert "other prior, other data" not in to_markdown(full)


def test_the_paper_beside_ours_is_what_the_paper_prints(manifests):
    table = built("main", manifests)
    theirs = next(one for one in table.theirs if (one.row, one.dataset, one.task) == ("PSLD", "ffhq", "sr4"))
    (fid,), (kid,) = (paper_results("ffhq", "sr4", "PSLD", metric) for metric in ("fid", "kid_x100"))
    assert theirs.values == {"psnr": 27.12, "lpips_vgg": 0.282, "ssim": 0.757, "fid": fid.value, "kid": kid.value}
    printed = next(one.printed for one in table.differences if (one.task, one.metric) == ("sr4", "psnr"))
    (star,) = paper_results("ffhq", "sr4", "G2D2", "psnr")
    (markov,) = paper_results("ffhq", "sr4", "G2D2-Markov", "psnr")
    assert printed["ffhq"] == pytest.approx(star.value - markov.value)


@pytest.mark.parametrize(("gain", "said"), [(1.0, "as in the paper"), (-1.0, "opposite to the paper"), (0.0, None)])
def test_the_verdict_follows_the_sign_and_the_test(gain, said, manifests):
    def shift(settings, metric):
        return gain * (settings["process"] == "star") * (-1 if metric == "lpips_vgg" else 1)

    table = built("star-against-markov", manifests, shift)
    verdicts = {one.verdict for one in table.differences}
    assert verdicts == ({said} if said else {"no difference shown"})
    (mean,) = {round(one.interval.mean) for one in table.differences if one.metric == "psnr"}
    assert mean == gain


def test_distances_of_whole_cells_stand_in_the_papers_units(manifests):
    experiment = EXPERIMENTS["main"]
    sweep = swept(experiment.full["ffhq-sr4"], manifests[256], "ffhq", lambda *_: 0)
    distances = {
        cell: {name: CellDistance(name, value, 24, 24) for name, value in (("fid", 61.5), ("kid", 0.0123))}
        for cell in sweep.sweep.scores.cells()
    }
    table = build_table(experiment, [replace(sweep, sweep=replace(sweep.sweep, distances=distances))])
    text = to_markdown(table)
    assert "FID" in text
    assert "| 61.50 | 1.23 |" in text  # KID times 100
    assert {one.metric for one in table.differences} == {"lpips_vgg", "psnr", "ssim"}
    missing = build_table(experiment, [sweep])
    assert "| - | - |" in to_markdown(missing)


def test_a_full_run_is_held_against_the_papers_numbers_of_its_data_set(manifests):
    table = built("text-conditioning", manifests, full=True)
    assert table.differences
    assert all(set(one.printed) <= {one.dataset} for one in table.differences)
    small = built("text-conditioning", manifests)
    assert any(set(one.printed) == {"imagenet", "ffhq"} for one in small.differences)


def test_memory_is_shown_in_gib(manifests):
    table = built("memory-and-speed", manifests, lambda settings, metric: 2**31 if metric == "peak_bytes" else 0)
    assert {round(entry.values["peak_bytes"].mean, 3) for entry in table.ours} == {2.0}
    assert "| 2.00 |" in to_markdown(table)


def test_a_row_that_matches_two_cells_is_refused(manifests):
    experiment = EXPERIMENTS["main"]
    wide = experiment.table.rows[0].model_copy(update={"label": "G2D2", "match": {"method": "g2d2"}})
    bad = replace(experiment, table=experiment.table.model_copy(update={"rows": [wide], "contrasts": []}))
    with pytest.raises(InputError, match="row 'G2D2' matches two cells of"):
        build_table(bad, [swept(experiment.minis["mini"], manifests[32], "cifar10", lambda *_: 0)])


def test_the_ablations_over_100_images_print_the_same_run_twice():
    """The text ablation's FFHQ row with the prompt is the prior ablation's ITHQ row."""
    text, prior = (EXPERIMENTS[name].table.printed for name in ("text-conditioning", "prior-choice"))

    def of(rows, label) -> dict[str, Printed]:
        return {one.task: one.values for one in rows if one.dataset == "ffhq" and one.row == label}

    assert of(text, "used, s = 3 or 5") == of(prior, "VQDiff-ITHQ")


def test_mistakes_are_told_in_a_sentence(tmp_path, capsys):
    assert run("paper", EXAMPLES, "--only", "maine", "--list") == 2
    assert "only: maine (did you mean 'main'?) is not an experiment; known are" in capsys.readouterr().err
    assert run("paper", tmp_path) == 2
    assert "no folder in it has a table.yaml" in capsys.readouterr().err
    (tmp_path / "odd").mkdir()
    values = yaml.safe_load((EXAMPLES / "main" / "table.yaml").read_text())
    values["contrasts"] = [{"a": "G2D2", "b": "nobody"}]
    (tmp_path / "odd" / "table.yaml").write_text(yaml.safe_dump(values))
    assert run("paper", tmp_path) == 2
    assert "a contrast names 'nobody', which is not a row" in capsys.readouterr().err


def test_an_uninformed_prior_keeps_what_it_sees_and_knows_nothing_else(tmp_path):
    from g2d2 import load_prior

    prior, told = load_prior(write_uninformed(PRIOR, tmp_path / "flat")), load_prior(PRIOR)
    codes = len(prior.codebook)
    tokens = torch.randint(codes, (2, prior.num_tokens), generator=torch.Generator().manual_seed(0))
    tokens[:, ::2] = codes  # every other is masked
    flat, known = (
        one.log_probs(tokens, 50, one.condition(["a", "b"], [1.0, 5.0])).exp() for one in (prior, told)
    )  # (2, K, D)
    torch.testing.assert_close(flat[..., ::2], torch.full_like(flat[..., ::2], 1 / codes))
    assert known[..., ::2].std() > 1e-4
    assert flat[..., 1::2].gather(1, tokens[:, None, 1::2]).min() > 0.999
    torch.testing.assert_close(prior.codebook, told.codebook)


def test_an_uninformed_copy_of_another_prior_is_made_anew(tiny_prior, tmp_path):
    weights = write_uninformed(PRIOR, tmp_path / "flat") / "transformer" / "diffusion_pytorch_model.safetensors"
    born = weights.stat().st_mtime_ns
    write_uninformed(PRIOR, tmp_path / "flat")
    assert weights.stat().st_mtime_ns == born
    write_uninformed(tiny_prior, tmp_path / "flat")
    assert weights.stat().st_size < 1_000_000


def test_the_imagenet_recipe_makes_the_papers_prompts(tmp_path):
    pictures = tmp_path / "val" / "n0"
    pictures.mkdir(parents=True)
    for name in ("ILSVRC2012_val_00000293", "ILSVRC2012_val_00000236"):
        Image.new("RGB", (300, 260), (9, 99, 200)).save(pictures / f"{name}.JPEG", "JPEG")
    (tmp_path / "list.txt").write_text("ILSVRC2012_val_00000293.JPEG 0\nILSVRC2012_val_00000236.JPEG 1\n")
    (tmp_path / "names.txt").write_text("n01440764 tench, Tinca tinca\nn01443537 goldfish, Carassius auratus\n")
    words = [tmp_path / "list.txt", tmp_path / "names.txt", tmp_path / "val", tmp_path / "imagenet.csv"]
    subprocess.run([sys.executable, EXAMPLES / "imagenet_csv.py", *words], check=True, timeout=60)
    template = ["--prompt-template", "a photo of {label}", "--resize"]
    built = run("manifest", "build", words[-1], tmp_path / "m", "--task", "sr4-256", "gaussian-deblur-256", *template)
    assert built == 0
    rows = [row for batch in Manifest.open(str(tmp_path / "m")).index() for row in batch.to_pylist()]
    assert len(rows) == 4
    assert {row["prompt"] for row in rows} == {
        "a photo of tench, Tinca tinca",
        "a photo of goldfish, Carassius auratus",
    }


def quick(folder, name):
    """An experiment with two images, two steps of two iterations and metrics without networks."""
    shutil.copytree(EXAMPLES / name, folder / name)
    for path in (folder / name).glob("*.yaml"):
        values = yaml.safe_load(path.read_text())
        values["metrics"] = ["psnr", "residual"]
        if path.name == "table.yaml":
            values["printed"] = [one | {"values": {"psnr": one["values"]["psnr"]}} for one in values.get("printed", [])]
        elif path.stem.startswith("mini"):
            values["select"]["limit"] = 2
            values["solver"]["settings"] = {"process": "star", "steps": 2, "iterations": 2}
        else:
            continue
        path.write_text(yaml.safe_dump(values))
    return folder


@pytest.mark.slow
def test_a_mini_runs_to_its_table_and_resumes(local_ray, tmp_path, capsys, monkeypatch):
    folder, out = quick(tmp_path / "examples", "forget-coefficient"), tmp_path / "out"
    assert run("paper", folder, "--out", out, "--json") == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    (record,) = said["tables"]
    figures = {Path(url).name for url in said["figures"]}
    curves = ("likelihood", "kl", "total")
    assert {f"traces-gaussian-deblur-32-{curve}.{kind}" for curve in curves for kind in ("png", "pdf")} <= figures
    assert all((out / "figures" / "forget-coefficient-mini-figure" / name).stat().st_size > 1000 for name in figures)
    assert {(one["row"], one["task"], one["images"]) for one in record["ours"]} == {
        (f"gamma {gamma}", "gaussian-deblur", 2) for gamma in ("0", "0.05", "0.3", "1")
    }
    means = {(one["row"], one["task"]): one["values"]["psnr"]["mean"] for one in record["ours"]}
    assert len(set(means.values())) == 4
    for ending in ("md", "tex", "json"):
        assert (out / "tables" / f"forget-coefficient.{ending}").stat().st_size > 100

    def never(*_):
        raise AssertionError("it solved again")

    monkeypatch.setattr("pipelines.solve.streaming.solve_and_score", never)
    assert run("paper", folder, "--out", out, "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["tables"] == [record]


def test_the_minis_bring_the_prior_they_name(tmp_path):
    experiment = moved(EXPERIMENTS["prior-choice"], str(tmp_path))
    prepare_minis([experiment], str(tmp_path))
    flat = experiment.minis["mini-uninformed"]
    assert prior_digest(Path(flat.prior)) != prior_digest(PRIOR)
    cells = cells_on(flat, ["sr4-32"], Path(flat.prior))  # its tuned settings came along
    assert [cell.settings for cell in cells] == [
        cell.settings for cell in cells_on(experiment.minis["mini"], ["sr4-32"], PRIOR)
    ]
    assert len(select_places(flat, Manifest.open(flat.manifest))) == 48
    with pytest.raises(InputError, match="is no local folder"):
        prepare_minis([moved(EXPERIMENTS["prior-choice"], "s3://bucket/x")], "s3://bucket/x")


def test_out_moves_everything_a_mini_makes():
    spec = moved(EXPERIMENTS["prior-choice"], "/elsewhere").minis["mini-uninformed"]
    assert (spec.manifest, spec.output) == ("/elsewhere/manifest", "/elsewhere/minis")
    assert spec.prior == "/elsewhere/priors/uninformed"
