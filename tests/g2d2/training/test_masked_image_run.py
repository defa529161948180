"""The masked prior on tiny settings: aMUSEd's conventions, its stock pipeline, and tokens that are kept."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from diffusers import AmusedScheduler, UVit2DModel, VQModel
from diffusers.pipelines.deprecated.amused.pipeline_amused import AmusedPipeline
from transformers import CLIPTextModelWithProjection, CLIPTokenizer

from g2d2.training.data import load_split, to_float
from g2d2.training.masked_image.masked_settings import RangeSettings
from g2d2.training.masked_image.unit_range import (
    decode_unit_tokens,
    encode_unit_tokens,
    fold_unit_range,
)
from g2d2.training.masked_image.uvit_stage import MaskedPrior, cosine_masks
from g2d2.training.recipes import FAMILIES
from g2d2.training.settings import Recipe, StageLimits
from g2d2.training.tokenisers import take_tokeniser
from g2d2.training.vq_diffusion.vqvae import decode_tokens, encode_tokens

Recipes = dict[str, Callable[[Path], Recipe]]
KINDS = {
    "vqvae": VQModel,
    "tokenizer": CLIPTokenizer,
    "text_encoder": CLIPTextModelWithProjection,
    "transformer": UVit2DModel,
    "scheduler": AmusedScheduler,
}


@pytest.fixture(scope="module")
def exported(tiny_recipes: Recipes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return FAMILIES["masked_image"].train(tiny_recipes["masked_image"](tmp_path_factory.mktemp("masked")))


def test_amused_pipeline_is_built_from_the_parts_and_generates(exported: Path) -> None:
    pipeline = AmusedPipeline(**{name: kind.from_pretrained(exported, subfolder=name) for name, kind in KINDS.items()})
    assert pipeline.scheduler.config.mask_token_id == pipeline.transformer.config.vocab_size - 1
    assert pipeline.transformer.config.vocab_size > pipeline.transformer.config.codebook_size + 1
    for guidance in (0.0, 3.0):
        options = {"guidance_scale": guidance, "generator": torch.Generator().manual_seed(0), "output_type": "np"}
        images = pipeline(["a photo of a frog", "a zebra"], num_inference_steps=3, **options).images
        assert images.shape == (2, 32, 32, 3)


def test_what_is_trained_is_what_the_pipeline_asks(
    exported: Path, tiny_recipes: Recipes, tiny_prior: Path, tmp_path: Path
) -> None:
    """The same log probabilities from the stage's module and from the exported parts."""
    recipe = tiny_recipes["masked_image"](tmp_path)
    parts = {name: kind.from_pretrained(exported, subfolder=name) for name, kind in KINDS.items()}
    prior = MaskedPrior(recipe.uvit, 8, 8, tiny_prior).eval()  # type: ignore[attr-defined]
    prior.transformer.load_state_dict(parts["transformer"].state_dict())
    prior.text_encoder.load_state_dict(parts["text_encoder"].state_dict())
    tokens = torch.randint(8, (1, 64))
    tokens[:, ::2] = prior.mask_id
    ids = parts["tokenizer"]("a photo of a frog", padding="max_length", return_tensors="pt").input_ids
    with torch.no_grad():
        states = parts["text_encoder"](ids, output_hidden_states=True)
        logits = parts["transformer"](
            tokens.view(1, 8, 8),
            encoder_hidden_states=states.hidden_states[-2],
            pooled_text_emb=states.text_embeds,
            micro_conds=torch.tensor([[32.0, 32.0, 0.0, 0.0, 6.0]]),
        )
        mine = prior(tokens, torch.tensor([6]), torch.tensor([False]))
    assert torch.allclose(mine, logits.flatten(2).log_softmax(1), atol=1e-5)


def test_folding_the_range_leaves_decoded_images_as_they_were(tiny_prior: Path, data_folder: Path) -> None:
    vqvae, folded = take_tokeniser(tiny_prior), take_tokeniser(tiny_prior, lookup_from_codebook=True)
    fold_unit_range(folded)
    images = load_split(data_folder, "test").images
    tokens = encode_tokens(vqvae, images)
    assert torch.allclose(decode_unit_tokens(folded, tokens), decode_tokens(vqvae, tokens), atol=1e-5)
    assert encode_unit_tokens(folded, images, batch=7).shape == tokens.shape
    # Inside, one convolution deep, the folded first layer sees what the other did.
    before = vqvae.encoder.conv_in(to_float(images))
    after = folded.encoder.conv_in(images.float() / 255)
    assert torch.allclose(before[..., 1:-1, 1:-1], after[..., 1:-1, 1:-1], atol=1e-5)


def test_the_moved_encoder_comes_back_to_its_latents(tiny_recipes: Recipes, tmp_path: Path) -> None:
    recipe = tiny_recipes["masked_image"](tmp_path)
    changes = {"range_limits": StageLimits(minutes=60, steps=60, report_every=5), "unit_range": RangeSettings(lr=0.01)}
    FAMILIES["masked_image"].train(recipe.model_copy(update=changes))
    curve = json.loads((tmp_path / "range-curve.json").read_text())
    assert curve[-1]["loss"] < 0.5 * curve[0]["loss"]


def test_masks_follow_the_cosine_and_leave_no_row_whole() -> None:
    masks = cosine_masks(torch.Size((4096, 64)), torch.Generator().manual_seed(0))
    assert masks.any(1).all()
    assert masks.float().mean().item() == pytest.approx(2 / torch.pi, abs=0.02)


def test_the_prior_learns_to_keep_what_is_not_masked(tiny_recipes: Recipes, tmp_path: Path) -> None:
    """aMUSEd's own loss does not; a solver asks the prior about every token."""
    limits = StageLimits(minutes=60, steps=80, report_every=80)
    kept = {}
    for weight in (0.0, 1.0):
        recipe = tiny_recipes["masked_image"](tmp_path / str(weight))
        uvit = recipe.uvit.model_copy(update={"kept_weight": weight})  # type: ignore[attr-defined]
        FAMILIES["masked_image"].train(recipe.model_copy(update={"uvit": uvit, "limits": limits}))
        kept[weight] = json.loads((recipe.out / "uvit-curve.json").read_text())[-1]["held_out_kept"]
    assert kept[1.0] < 0.5 < 1.0 < kept[0.0]
