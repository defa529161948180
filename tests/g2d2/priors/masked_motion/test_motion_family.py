"""Folders of masked motion priors: recognised, described, hashed, checked and loaded strictly."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from g2d2.priors.base import Discrete
from g2d2.priors.families import find_family, prior_digest, recognise
from g2d2.priors.loading import load_prior
from g2d2.priors.masked_motion.random_motion import random_motion_components, random_motion_prior
from g2d2.priors.trial import try_prior
from operators import InputError
from operators.skeleton import FEATURES


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("motion")
    random_motion_components().save(folder)
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "prior")


def test_a_folder_is_known_by_either_network(folder):
    assert recognise(folder).name == "masked_motion"
    shutil.rmtree(folder / "vqvae")
    assert recognise(folder).name == "masked_motion"
    with pytest.raises(InputError, match="no folder 'vqvae'"):
        recognise(folder).check(folder)


def test_facts_are_known_without_loading(folder):
    facts = find_family("masked_motion").facts(folder)
    assert (facts.kind, facts.signal, facts.x_shape) == (Discrete, "motion", (32, FEATURES))
    assert facts.takes("motion", (20, FEATURES))
    assert not facts.takes("motion", (33, FEATURES))
    assert not facts.takes("image", (3, 32, 32))
    assert facts.too_long(["a person walks around a chair"])
    assert "8 tokens, 8 codes" in find_family("masked_motion").describe(folder)["shape"]


def test_loaded_equals_saved(folder):
    saved, loaded = random_motion_prior(), load_prior(folder, digest=prior_digest(folder))
    tokens = torch.full((2, 8), loaded.mask_id)
    answers = [
        (
            prior.log_probs(tokens, 1, prior.condition(["a", "b"], [1.0, 1.0])),
            prior.decode(prior.codebook[tokens % 8].mT),
        )
        for prior in (saved, loaded)
    ]
    assert all(torch.equal(one, other) for one, other in zip(*answers, strict=True))
    assert try_prior(loaded).warning  # it knows nothing


def test_a_change_of_any_file_changes_the_digest(folder):
    before = prior_digest(folder)
    digests = {before}
    for path in recognise(folder).files(folder):
        content = path.read_bytes()
        path.write_bytes(content + b" ")
        digests.add(prior_digest(folder))
        path.write_bytes(content)
    assert len(digests) == len(set(recognise(folder).files(folder))) + 1
    (folder / "README.md").write_text("a card")
    assert prior_digest(folder) == before


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("component", "changes", "match"),
    [
        ("transformer", {"codes": 9}, "has codes 9, which does not fit"),
        ("vqvae", {"longest": 36}, "has longest 36, .* must be 32"),
        ("vqvae", {"features": 251}, "has features 251"),
        ("text_encoder", {"projection_dim": 16}, "has projection_dim 16"),
        ("vqvae", {"codes": None}, "do not describe a motion model"),
    ],
)
def test_configurations_that_disagree_are_refused(folder, component, changes, match):
    edit(folder / component / "config.json", **changes)
    with pytest.raises(InputError, match=match):
        recognise(folder).check(folder)


def test_weights_must_fit_their_configuration(folder):
    path = folder / "transformer" / "diffusion_pytorch_model.safetensors"
    tensors = load_file(path)
    save_file(tensors | {"codebook": tensors["codebook"][:4].clone()}, path)
    with pytest.raises(InputError, match="codebook is 4x8 and must be 8x8"):
        load_prior(folder)
    tensors.pop("head.weight")
    save_file(tensors, path)
    with pytest.raises(InputError, match=r"no tensor 'head\.weight'"):
        load_prior(folder)


def test_the_normalisation_is_one_of_the_files(folder):
    path = folder / "normalisation" / "normalisation.safetensors"
    tensors = load_file(path)
    save_file(tensors | {"std": torch.zeros(FEATURES)}, path)
    with pytest.raises(InputError, match=r"normalisation.safetensors: std is 0"):
        load_prior(folder)
    save_file({"mean": tensors["mean"]}, path)
    with pytest.raises(InputError, match=r"normalisation\.safetensors"):
        load_prior(folder)
    path.write_bytes(b"short")
    with pytest.raises(InputError, match=r"normalisation\.safetensors"):
        load_prior(folder)
    path.unlink()
    with pytest.raises(InputError, match="'normalisation' is incomplete"):
        load_prior(folder)


def test_options_of_images_are_refused(folder):
    with pytest.raises(InputError, match="channels_last is for priors of images"):
        load_prior(folder, channels_last=True)
