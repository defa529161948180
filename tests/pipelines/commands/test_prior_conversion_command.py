"""`g2d2 prior convert`, `info`, `check` and `list` with continuous priors."""

import json

import pytest
import torch

from g2d2.priors.random_unets import save_latent, save_pixel
from pipelines import cli


def run(*words):
    return cli.main(["prior", *map(str, words)])


def failed(capsys, *words):
    assert run(*words) == 2
    error = capsys.readouterr().err.strip()
    assert len(error.splitlines()) == 1
    return error


def test_what_is_no_adm_checkpoint_is_one_sentence(tmp_path, capsys):
    torch.save({"a": torch.zeros(1)}, tmp_path / "adm.pt")
    words = ["convert", "--family", "pixel_diffusion", tmp_path / "adm.pt", "--out", tmp_path / "out"]
    assert "so it is not one of ADM" in failed(capsys, *words)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--family", "pixel_diffusion", "--config", "a.yaml"], "--config does not go with --family pixel_diffusion"),
        (["--head-width", "32"], "--head-width does not go with --family vq_diffusion"),
        (["--config", "a.yaml"], "--vqvae-config is missing, which --family vq_diffusion needs"),
    ],
)
def test_options_of_another_family_are_refused(tmp_path, capsys, words, message):
    assert message in failed(capsys, "convert", tmp_path / "m.pt", *words, "--out", tmp_path / "out")


def test_an_adm_checkpoint_becomes_a_prior(tmp_path, capsys):
    from g2d2.priors import load_prior
    from g2d2.priors.pixel_diffusion.adm_layout import AdmShape
    from g2d2.priors.random_unets import UNet2DModel

    shape = AdmShape(3, 6, (32,), 1, (True,), True, None)
    unet = UNet2DModel(**shape.config(8, 16))
    named = dict(shape.prefixes())
    state = {}
    for name, value in unet.state_dict().items():
        prefix, _, ending = name.rpartition(".")
        if prefix.endswith(("to_k", "to_v")):
            continue
        if prefix.endswith("to_q"):
            value = torch.randn(3 * value.shape[0], *value.shape[1:])
        if ".attentions." in prefix and value.ndim == 2:
            value = value[..., None]
        state[f"{named[prefix]}.{ending}"] = value
    torch.save(state, tmp_path / "adm.pt")
    options = ["--size", 8, "--head-width", 16, "--betas", "cosine"]
    assert run("convert", "--family", "pixel_diffusion", tmp_path / "adm.pt", *options, "--out", tmp_path / "out") == 0
    assert "8x8 pixels\ndigest " in capsys.readouterr().out
    assert load_prior(tmp_path / "out").noise.variance == "learned_range"
    assert "exists already" in failed(
        capsys, "convert", "--family", "pixel_diffusion", tmp_path / "adm.pt", "--out", tmp_path / "out"
    )


def test_info_and_check_speak_of_continuous_priors(tmp_path, capsys):
    pixel, latent = save_pixel(tmp_path / "pixel"), save_latent(tmp_path / "latent")
    capsys.readouterr()
    assert run("info", pixel, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["family"], facts["shape"]) == ("pixel_diffusion", "8x8 pixels")
    assert run("info", f"{latent}@8") == 0
    assert "resized to 8x8" in capsys.readouterr().out
    assert run("check", latent) == 0
    assert "16x16 pixels, 8x8 latents of 4 channels" in capsys.readouterr().out
    assert run("check", pixel, "--run") == 1  # random weights know nothing
    assert "noise on a grey image is missed by" in capsys.readouterr().out


def test_the_known_ones_are_listed(capsys, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert run("list", "--json") == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["ddpm-cifar10"]["location"] == "google/ddpm-cifar10-32"
    assert rows["sd15"]["shape"] == "512x512 pixels, 64x64 latents of 4 channels"
    assert {rows[name]["family"] for name in ("ddpm-cifar10", "ddpm-celebahq")} == {"pixel_diffusion"}
    assert {rows[name]["family"] for name in ("ldm-celebahq",)} == {"latent_diffusion"}
