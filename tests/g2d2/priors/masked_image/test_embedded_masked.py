"""The packaged masked prior: small, loadable by stock classes, on the codes and decoder of the discrete one."""

import json

import pytest
import torch
from safetensors import safe_open

from g2d2.priors import load_prior
from g2d2.priors.catalog import CATALOG, EMBEDDED, packaged_folder
from g2d2.training.data import PROMPTS
from g2d2.training.token_statistics import mean_nats
from tests.g2d2.priors.test_embedded_diffusion import held_out


@pytest.fixture(scope="module")
def folder():
    return packaged_folder(CATALOG["cifar10-masked"])


@pytest.fixture(scope="module")
def prior():
    return load_prior("cifar10-masked")


def test_it_is_small_and_says_what_it_is(folder):
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 12_000_000
    assert sum(file.stat().st_size for file in EMBEDDED.rglob("*") if file.is_file()) < 60_000_000
    with safe_open(folder / "transformer" / "diffusion_pytorch_model.safetensors", "pt") as weights:
        assert {weights.get_tensor(name).dtype for name in weights.keys()} == {torch.float16}  # noqa: SIM118
    card = (folder / "README.md").read_text()
    record = json.loads((folder / "training.json").read_text())
    assert f"{record['held_out']['parameters']['transformer']:,} parameters" in card
    assert "/" not in str(record["settings"])  # no path of the machine that trained it


def test_its_shape_and_mask_are_those_that_the_catalog_and_the_card_say(prior, folder):
    known = CATALOG["cifar10-masked"]
    assert tuple(prior.x_shape) == (3, known.image_size, known.image_size)
    assert prior.num_tokens == known.token_side**2
    assert len(prior.codebook) == known.codes
    assert prior.mask_id == 1039
    assert f"the mask is {prior.mask_id}" in (folder / "README.md").read_text()


def test_codes_and_decoder_are_those_of_the_discrete_prior(prior):
    """Up to the rounding of another range of pixels; its encoder gives the same tokens nine times in ten."""
    other = load_prior("cifar10")
    assert torch.equal(prior.codebook, other.codebook)
    truth = held_out(8)
    tokens = other.encode(truth)
    torch.testing.assert_close(
        prior.decode(prior.codebook[tokens].mT), other.decode(other.codebook[tokens].mT), rtol=0, atol=1e-5
    )
    assert (prior.encode(truth) == tokens).float().mean() > 0.85


def test_it_knows_masked_tokens_as_well_as_its_card_says(prior, folder):
    told = json.loads((folder / "training.json").read_text())["held_out"]
    tokens = prior.encode(held_out(40))
    generator = torch.Generator().manual_seed(0)
    masked = torch.rand(tokens.shape, generator=generator).argsort(1) < prior.num_tokens // 2
    z = tokens.masked_fill(masked, prior.mask_id)
    log_p = prior.log_probs(z, 500, prior.condition([""] * len(z), [1.0] * len(z)))
    nats = mean_nats(log_p, tokens, masked).item()
    assert nats == pytest.approx(told["nats"]["50%"]["unconditional"], abs=0.25)  # other masks than the card's
    assert nats < told["unigram_nats"] - 0.4


def test_the_stock_pipeline_generates(folder):
    from diffusers.pipelines.deprecated.amused.pipeline_amused import AmusedPipeline

    from g2d2.priors.masked_image.masked_components import load_masked_parts

    pipeline = AmusedPipeline(**vars(load_masked_parts(folder)))
    pipeline.set_progress_bar_config(disable=True)
    generator = torch.Generator().manual_seed(0)
    drawn = pipeline([PROMPTS[1], PROMPTS[8]], generator=generator, num_inference_steps=4, output_type="np").images
    assert drawn.shape == (2, 32, 32, 3)
    assert drawn.std() > 0.05
