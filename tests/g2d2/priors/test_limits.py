"""What files say of a prior is what the loaded prior says of itself."""

import json
import shutil

import pytest

from g2d2.priors import load_prior
from g2d2.priors.limits import read_limits
from operators import InputError


def test_limits_are_those_of_the_loaded_prior(tiny_prior):
    limits, prior = read_limits(tiny_prior), load_prior(tiny_prior)
    assert limits.image_shape == prior.image_shape
    assert limits.train_steps == prior.schedule.train_steps
    assert limits.prompt_tokens == prior.components.tokenizer.model_max_length


def test_a_prompt_is_too_long_where_encoding_refuses_it(tiny_prior):
    limits, prior = read_limits(tiny_prior), load_prior(tiny_prior)
    prompts = ["x" * length for length in range(12, 18)] + ["a b c", "é" * 9, ""]
    refused = set()
    for text in prompts:
        try:
            prior.encode_prompts([text], [1.0])
        except InputError:
            refused.add(text)
    assert refused
    assert set(limits.too_long(prompts)) == refused


def test_a_folder_that_cannot_be_loaded_is_refused(tiny_prior, tmp_path):
    folder = shutil.copytree(tiny_prior, tmp_path / "prior")
    path = folder / "vqvae" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"out_channels": "three"}))
    with pytest.raises(InputError, match="out_channels 'three': it must be a number"):
        read_limits(folder)
    (folder / "transformer" / "diffusion_pytorch_model.safetensors").unlink()
    with pytest.raises(InputError, match="'transformer' has no weights"):
        read_limits(folder)
