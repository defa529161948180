"""Strict loading: where the digest says equal, weights are equal, and nothing is filled with random numbers."""

import json
import shutil
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

from g2d2.priors import TINY, load_prior, prior_digest
from g2d2.priors.vq_diffusion.random_weights import random_components
from operators import InputError

WEIGHTS = {
    "vqvae": ("vqvae/diffusion_pytorch_model", "decoder.conv_out.weight"),
    "transformer": ("transformer/diffusion_pytorch_model", "transformer_blocks.0.ff.net.2.bias"),
    "text_encoder": ("text_encoder/model", "final_layer_norm.weight"),
    "blank": ("learned_classifier_free_sampling_embeddings/diffusion_pytorch_model", "embeddings"),
}


@pytest.fixture
def folder(tiny_prior, tmp_path):
    return shutil.copytree(tiny_prior, tmp_path / "copy")


def rewrite(folder, component, change, pickled=False):
    """The weights of a component after a change to them, as a pickle where asked."""
    stem = WEIGHTS[component][0]
    path = folder / f"{stem}.safetensors"
    tensors = load_file(path)
    change(tensors)
    if pickled:
        path.unlink()
        path = folder / f"{stem.replace('text_encoder/model', 'text_encoder/pytorch_model')}.bin"
        torch.save(tensors, path)
    else:
        save_file(tensors, path, metadata={"format": "pt"})
    return path


def refusal(folder):
    with pytest.raises(InputError) as error:
        load_prior(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("pickled", [False, True])
@pytest.mark.parametrize("component", WEIGHTS)
def test_missing_foreign_and_misshapen_tensors_are_named_with_their_file(folder, component, pickled):
    name = WEIGHTS[component][1]
    kept = {}
    path = rewrite(folder, component, lambda tensors: kept.update({name: tensors.pop(name)}), pickled)
    message = refusal(folder)
    assert name in message
    assert str(path) in message
    if pickled:
        return

    def add(tensors):
        tensors |= {**kept, "extra.weight": torch.zeros(2)}

    def misshape(tensors):
        del tensors["extra.weight"]
        tensors[name] = torch.zeros(3, 5, 2)

    assert "extra.weight" in refusal(rewrite(folder, component, add).parents[1])
    message = refusal(rewrite(folder, component, misshape).parents[1])
    assert "3x5x2" in message
    assert name in message


def test_the_position_numbers_old_text_encoders_keep_are_no_foreign_tensor(folder, tiny_prior):
    def age(tensors):
        old = {f"text_model.{name}": value for name, value in tensors.items()}
        tensors.clear()
        tensors |= old | {"text_model.embeddings.position_ids": torch.arange(16)[None]}

    rewrite(folder, "text_encoder", age)
    states = [load_prior(source).condition(["a"], [1.0]).embeddings for source in (folder, tiny_prior)]
    assert torch.equal(*states)


def test_attention_named_as_old_versions_of_diffusers_did_is_known(tmp_path):
    shape = replace(TINY, lowest_attention=True)
    random_components(shape).save(tmp_path)

    def age(tensors):
        for new, old in (("to_q", "query"), ("to_k", "key"), ("to_v", "value"), ("to_out.0", "proj_attn")):
            for name in [name for name in tensors if new in name]:
                tensors[name.replace(new, old)] = tensors.pop(name)

    rewrite(tmp_path, "vqvae", age)
    expected = random_components(shape).vqvae.state_dict()
    loaded = load_prior(tmp_path).components.vqvae.state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in loaded.items())


def test_a_configuration_cannot_point_past_the_digest(folder, tiny_prior):
    """Transformers would take adapters, and files that a configuration names: no digest covers those."""
    shutil.copy(folder / "text_encoder" / "model.safetensors", folder / "text_encoder" / "other.safetensors")
    rewrite(folder, "text_encoder", lambda tensors: [value.zero_() for value in tensors.values()])
    config = folder / "text_encoder" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "transformers_weights": "other.safetensors"}))
    weights = load_prior(folder).components.text_encoder.state_dict()
    assert not any(value.any() for value in weights.values())


def test_a_prior_of_another_digest_is_refused(folder):
    digest = prior_digest(folder)
    load_prior(folder, digest=digest)
    rewrite(folder, "vqvae", lambda tensors: tensors["decoder.conv_out.bias"].add_(1))
    with pytest.raises(InputError, match=f"has digest {prior_digest(folder)[:12]} on this machine") as error:
        load_prior(folder, digest=digest)
    assert f"planned with {digest[:12]}" in str(error.value)
