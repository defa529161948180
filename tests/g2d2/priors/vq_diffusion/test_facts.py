"""What files say of a prior is what the loaded prior says of itself."""

import json
import shutil
import subprocess
import sys

import pytest

from g2d2.priors import load_prior, locate_prior
from g2d2.priors.base import Discrete
from operators import InputError


def read_facts(folder):
    return locate_prior(folder).facts()


def test_facts_are_those_of_the_loaded_prior(tiny_prior):
    facts, prior = read_facts(tiny_prior), load_prior(tiny_prior)
    assert facts.kind is Discrete
    assert isinstance(prior, facts.kind)
    assert facts.signal == prior.signal == "image"
    assert facts.x_shape == prior.x_shape
    assert facts.train_steps == prior.schedule.train_steps
    assert facts.prompt_tokens == prior.components.tokenizer.model_max_length


def test_a_prompt_is_too_long_where_encoding_refuses_it(tiny_prior):
    facts, prior = read_facts(tiny_prior), load_prior(tiny_prior)
    prompts = ["x" * length for length in range(12, 18)] + ["a b c", "é" * 9, ""]
    refused = set()
    for text in prompts:
        try:
            prior.condition([text], [1.0])
        except InputError:
            refused.add(text)
    assert refused
    assert set(facts.too_long(prompts)) == refused
    for text in prompts:
        if text in refused:
            with pytest.raises(InputError, match="tokens and the prior's tokenizer allows 16"):
                facts.check_prompt(text)
        else:
            facts.check_prompt(text)


def test_short_prompts_and_shapes_load_no_model_library(tiny_prior):
    code = (
        "import sys\nfrom g2d2.priors import locate_prior\n"
        f"located = locate_prior({str(tiny_prior)!r})\nlocated.facts().check_prompt('a')\nlocated.digest()\n"
        "print([m for m in ('diffusers', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_folder_that_cannot_be_loaded_is_refused(tiny_prior, tmp_path):
    folder = shutil.copytree(tiny_prior, tmp_path / "prior")
    path = folder / "vqvae" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"out_channels": "three"}))
    with pytest.raises(InputError, match="out_channels 'three': it must be a number"):
        read_facts(folder)
    (folder / "transformer" / "diffusion_pytorch_model.safetensors").unlink()
    with pytest.raises(InputError, match="'transformer' has no weights"):
        read_facts(folder)
