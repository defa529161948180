"""`g2d2 prior`, as a person would use it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from g2d2.priors import catalog, load_prior, prior_digest
from pipelines import cli
from pipelines.commands import prior as command


@pytest.fixture(autouse=True)
def hub_without_files(tmp_path, monkeypatch):
    """No test depends on what this machine has cached."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.file_download.HF_HUB_CACHE", str(tmp_path / "hub"), raising=False)
    monkeypatch.setattr(catalog, "EMBEDDED", tmp_path / "embedded")


def run(*words):
    return cli.main(["prior", *map(str, words)])


def failed(capsys, *words):
    assert run(*words) == 2
    error = capsys.readouterr().err.strip()
    assert len(error.splitlines()) == 1
    assert error.startswith("g2d2 prior: ")
    return error


def test_list_is_a_table_and_json(capsys):
    assert run("list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "family", "home", "installed", "size", "shape", "licence", "digest"]
    names = [line.split()[0] for line in lines[1 : lines.index("")]]
    assert names[0] == "cifar10"
    assert {"cifar10-pixel", "cifar10-latent", "cifar10-masked", "cmu-motion", "ithq", "cvqdiff-ffhq"} < {*names}
    assert run("list", "--json") == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["ithq"]["location"] == "microsoft/vq-diffusion-ithq"
    assert rows["ithq"]["licence"] == "MIT"
    assert not any(row["installed"] for row in rows.values())


def test_a_packaged_prior_is_listed_with_its_digest_and_copied(tiny_prior, tmp_path, capsys):
    shutil.copytree(tiny_prior, tmp_path / "embedded" / "cifar10-vq")
    assert run("list", "--json") == 0
    row = next(row for row in json.loads(capsys.readouterr().out) if row["name"] == "cifar10")
    assert row["installed"]
    assert row["digest"] == prior_digest(tiny_prior)[:12]
    assert run("fetch", "cifar10", "--to", tmp_path / "mine") == 0
    assert "8x8 pixels" in capsys.readouterr().out
    assert load_prior(tmp_path / "mine").num_tokens == 16
    assert "exists already" in failed(capsys, "fetch", "cifar10", "--to", tmp_path / "mine")


def test_info_of_a_name_says_whether_it_is_here(capsys):
    assert run("info", "cifar10") == 0
    assert "not installed" in capsys.readouterr().out
    assert run("info", "ithq", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["folder"] == "not installed"
    assert facts["digest"].startswith("unknown: ")
    assert facts["expected_shape"] == "256x256 pixels, 32x32 tokens, 4096 codes"


def test_info_of_a_folder_reads_it(tiny_prior, capsys):
    assert run("info", tiny_prior, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["shape"] == "8x8 pixels, 4x4 tokens, 8 codes"
    assert facts["digest"] == prior_digest(tiny_prior)


OWN = """
from g2d2.priors import Discrete, Prior


class Mine(Discrete):
    \"\"\"A prior of my own.\"\"\"

    x_shape = (1, 8, 8)


class Plain(Prior):
    x_shape = (1, 8, 8)
"""


def test_a_prior_of_ones_own_is_shown_and_checked(tmp_path, capsys, monkeypatch):
    (tmp_path / "my_prior_module.py").write_text(OWN)
    monkeypatch.setenv("G2D2_MODULES", str(tmp_path))
    assert run("info", "my_prior_module:Mine", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["shape"] == "8x8 with 1 channel"
    assert facts["notes"] == "A prior of my own."
    assert "folder" not in facts
    assert run("check", "my_prior_module:Mine") == 0
    assert f"digest {facts['digest']}" in capsys.readouterr().out
    assert "there is nothing to ask a prior of kind Plain" in failed(capsys, "check", "my_prior_module:Plain", "--run")
    assert "cannot be loaded (module 'my_prior_module'" in failed(capsys, "info", "my_prior_module:Yours")


def test_a_folder_of_no_family_is_one_sentence(tmp_path, capsys):
    (tmp_path / "unet").mkdir()
    for action in ("check", "info"):
        sentence = failed(capsys, action, tmp_path)
        assert "holds no prior of a known family: " in sentence
        assert "vq_diffusion looks for" in sentence


def test_fetch_takes_the_hubs_files_and_checks_them(tiny_prior, tmp_path, capsys, monkeypatch):
    def download(repository, local_dir, **_):
        return str(shutil.copytree(tiny_prior, local_dir, dirs_exist_ok=True)) if local_dir else str(tiny_prior)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert run("fetch", "some/prior", "--to", tmp_path / "here") == 0
    assert str(tmp_path / "here") in capsys.readouterr().out
    # the tiny prior is not what 'ithq' is published as
    assert "'ithq' publishes it with" in failed(capsys, "fetch", "ithq")


def test_fetch_says_why_it_cannot(capsys):
    assert "offline mode is on" in failed(capsys, "fetch", "ithq")
    assert "g2d2 prior convert" in failed(capsys, "fetch", "cvqdiff-ffhq")
    assert "is not installed" in failed(capsys, "fetch", "cifar10")


def test_check_tells_whole_from_damaged(tiny_prior, tmp_path, capsys):
    assert run("check", tiny_prior) == 0
    assert prior_digest(tiny_prior) in capsys.readouterr().out
    assert "publishes it with 606" in failed(capsys, "check", tiny_prior, "--as", "ithq")
    broken = shutil.copytree(tiny_prior, tmp_path / "broken")
    path = broken / "vqvae" / "diffusion_pytorch_model.safetensors"
    path.write_bytes(path.read_bytes()[:-7])
    assert "is cut short" in failed(capsys, "check", broken)
    assert "is not a folder" in failed(capsys, "check", tmp_path / "nowhere")
    assert "nor a hub id in the local cache" in failed(capsys, "info", "no/where")


def test_check_refuses_a_prior_whose_network_would_be_filled_with_random_numbers(tiny_prior, tmp_path, capsys):
    broken = shutil.copytree(tiny_prior, tmp_path / "broken")
    path = broken / "vqvae" / "diffusion_pytorch_model.safetensors"
    tensors = load_file(path)
    del tensors["decoder.conv_out.weight"]
    save_file(tensors, path)
    assert f"{path} has no tensor 'decoder.conv_out.weight'" in failed(capsys, "check", broken)


@pytest.mark.parametrize("name", ["a:b/c", "a/b:c", "~nobody-of-that-name/prior", "a b/c", "--/--"])
def test_info_of_what_no_prior_can_be_called_is_one_sentence(capsys, name):
    assert repr(name) in failed(capsys, "info", "--", name)


def test_a_trial_tells_a_prior_that_keeps_tokens_from_one_that_does_not(tiny_prior, capsys):
    packaged = Path(catalog.__file__).parent / "embedded" / "cifar10-vq"
    assert run("check", packaged, "--run") == 0
    kept = float(capsys.readouterr().out.split("are kept with p = ")[1])
    assert 0.99 < kept <= 1
    assert run("check", tiny_prior, "--run") == 1  # random weights know nothing
    assert "the network was not trained on them" in capsys.readouterr().out


def test_convert_names_a_missing_file(tmp_path, capsys):
    words = ["--config", tmp_path / "a.yaml", "--vqvae-config", tmp_path / "b.yaml", "--out", tmp_path / "out"]
    assert "a.yaml: there is no such file" in failed(capsys, "convert", tmp_path / "m.pth", *words)


def test_every_action_has_help_with_an_example(capsys):
    for name in command.ACTIONS:
        with pytest.raises(SystemExit) as stop:
            run(name, "--help")
        assert stop.value.code == 0
        assert f"example:\n  g2d2 prior {name}" in capsys.readouterr().out


def test_listing_loads_no_model_library():
    code = (
        "import sys\nfrom pipelines.cli import main\nmain(['prior', 'list'])\n"
        "print([m for m in ('diffusers', 'transformers') if m in sys.modules])"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
