"""A run that goes on from a prior begins with its weights, codes, words and normalisation."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from g2d2.priors.masked_motion.motion_components import load_motion_components
from g2d2.training.masked_motion.motion_recipe import MotionRecipe
from g2d2.training.recipes import FAMILIES
from g2d2.training.settings import Recipe, StageLimits
from operators.errors import InputError

Recipes = dict[str, Callable[[Path], Recipe]]


def test_a_run_goes_on_from_a_prior(tiny_recipes: Recipes, tmp_path: Path) -> None:
    """With a learning rate of next to nothing what comes out is what went in, but for the codes' moving averages."""
    family = FAMILIES["masked_motion"]
    first = family.train(tiny_recipes["masked_motion"](tmp_path / "first"))
    recipe = tiny_recipes["masked_motion"](tmp_path / "second")
    assert isinstance(recipe, MotionRecipe)
    still = {
        "start": first,
        "seed": 5,
        "vqvae": recipe.vqvae.model_copy(update={"lr": 1e-9, "code_decay": 0.9999, "dead_share": 0.0}),
        "transformer": recipe.transformer.model_copy(update={"lr_matrices": 1e-9, "lr_rest": 1e-9}),
        "vqvae_limits": StageLimits(minutes=60, steps=1),
        "transformer_limits": StageLimits(minutes=60, steps=1),
    }
    made = family.train(recipe.model_copy(update=still))
    before, after = (load_motion_components(folder) for folder in (first, made))
    for part in ("vqvae", "transformer", "text_encoder"):
        learnt = getattr(after, part).state_dict()
        for name, weight in getattr(before, part).state_dict().items():
            if name != "codebook":
                assert torch.allclose(learnt[name].float(), weight.float(), atol=1e-3), f"{part}.{name}"
    assert torch.equal(after.normalisation.mean, before.normalisation.mean)
    assert before.tokenizer.get_vocab() == after.tokenizer.get_vocab()


def test_a_prior_of_another_shape_is_refused(tiny_recipes: Recipes, tmp_path: Path) -> None:
    family = FAMILIES["masked_motion"]
    first = family.train(tiny_recipes["masked_motion"](tmp_path / "first"))
    recipe = tiny_recipes["masked_motion"](tmp_path / "second")
    assert isinstance(recipe, MotionRecipe)
    wider = {"start": first, "vqvae": recipe.vqvae.model_copy(update={"width": 2 * recipe.vqvae.width})}
    with pytest.raises(InputError, match=r"start: the vqvae of .* has another shape than the recipe's"):
        family.train(recipe.model_copy(update=wider))
