"""What an exported matching network is worth on people whom it has not seen, as numbers and as its card."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from torch import Tensor

from eval.distribution.motion_names import TOPS
from eval.embedding_sets import r_precision, set_frechet
from eval.motion_matching.cmu_evaluator import CmuEvaluator
from eval.motion_matching.matching_recipe import MatchingRecipe
from g2d2.training.folders import size_megabytes
from g2d2.training.masked_motion.captured_clips import ACKNOWLEDGEMENT

DISTANCES = ("halves", "to_train")
"""Numbers that are Frechet distances between sets of real motions."""
_REPEATS = 20
_CARD = """# Embedded evaluator of motions

Embeds motions in HumanML3D's features, and prompts, as {embedding} numbers of length 1 each, near each other where
they belong together: two convolutions and a recurrent layer over frames, a bag of {words} word stems over prompts,
trained by the softmax over batches of {batch} in both directions. {parameters:,} parameters, {megabytes:.1f} MB.
It is NOT the evaluator of published tables: its numbers carry names of their own (`frechet_cmu`, ...) and compare
with each other alone.

{acknowledgement}

Trained on {train} clips, mirror images among them, for {steps} steps (seed {seed}), by
`python -m eval.motion_matching --data FOLDER --out OUT`. How long was chosen on some of the people it is trained on.

On {held} windows of {subjects} people held out, the same as the motion prior's, in groups of 32,
mean of {repeats} draws, the share of prompts whose own motion is among the nearest:

| R-precision | top 1 | top 2 | top 3 |
|---|---|---|---|
| motions with their own prompts | {own} |
| motions dealt to prompts at random | {chance} |

The second row is chance: windows of one clip, and clips of one label, have the same prompt and are no rivals.
The Frechet distance between two random halves of these windows is {halves:.4f}, and from all of them to
{train_windows} windows of the training clips {to_train:.4f}.
"""


def matching_numbers(folder: Path, held: Sequence[tuple[Tensor, str]], train: Sequence[Tensor]) -> dict[str, float]:
    """Retrieval and its chance on held-out windows, and distances between sets of real motions."""
    evaluator, random = CmuEvaluator(folder), np.random.default_rng(0)
    motions, texts = evaluator.motions([x for x, _ in held]), evaluator.texts([prompt for _, prompt in held])
    numbers: dict[str, float] = {}
    for top in TOPS:
        draws = [r_precision(texts, motions, seed, top) for seed in range(_REPEATS)]
        dealt = [r_precision(texts, random.permutation(motions), seed, top) for seed in range(_REPEATS)]
        numbers |= {f"own_top{top}": float(np.mean(draws)), f"chance_top{top}": float(np.mean(dealt))}
    order, half = random.permutation(len(motions)), len(motions) // 2
    halves = set_frechet(motions[order[:half]], motions[order[half:]])
    return numbers | dict(zip(DISTANCES, (halves, set_frechet(evaluator.motions(train), motions)), strict=True))


def matching_card(
    recipe: MatchingRecipe, numbers: dict[str, float], steps: int, clips: int, held: int, subjects: int, windows: int
) -> str:
    """The card of an exported network."""
    network = CmuEvaluator(recipe.exported).network
    return _CARD.format(
        embedding=network.settings.embedding,
        words=len(network.settings.words),
        batch=recipe.network.batch,
        parameters=sum(value.numel() for value in network.parameters()),
        megabytes=size_megabytes(recipe.exported),
        acknowledgement=ACKNOWLEDGEMENT,
        train=clips,
        steps=steps,
        seed=recipe.seed,
        held=held,
        subjects=subjects,
        repeats=_REPEATS,
        train_windows=windows,
        **{name: numbers[name] for name in DISTANCES},
        **{row: " | ".join(f"{numbers[f'{row}_top{top}']:.3f}" for top in TOPS) for row in ("own", "chance")},
    )
