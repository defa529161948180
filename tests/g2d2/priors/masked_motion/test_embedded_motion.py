"""The packaged motion prior: its files, what it knows, and that a row is itself in any batch at its real size."""

import numpy as np
import pytest
import torch

from eval.motion_evaluators import open_evaluator
from g2d2.priors.catalog import CATALOG
from g2d2.priors.loading import load_prior
from g2d2.priors.locating import locate_prior
from g2d2.priors.trial import try_prior
from g2d2.training.masked_motion.motion_samples import sample_motions
from operators.skeleton import FEATURES, joints_from_features

LENGTHS = (196, 120, 61)
PROMPTS = ("a person walks", "a person runs", "a person jumps")


@pytest.fixture(scope="module")
def prior():
    return load_prior("cmu-motion")


def test_files_are_whole_small_and_acknowledge_their_data():
    located = locate_prior("cmu-motion")
    folder = located.folder
    assert located.check(CATALOG["cmu-motion"]) == "up to 196 frames of 263 features, 49 tokens, 512 codes"
    assert CATALOG["cmu-motion"].shape == "up to 196 frames, 49 tokens, 512 codes"
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 12e6
    assert "obtained from mocap.cs.cmu.edu" in (folder / "README.md").read_text()
    assert {path.suffix for path in folder.rglob("*") if path.is_file()} <= {".json", ".txt", ".md", ".safetensors"}


def test_it_keeps_tokens_that_are_not_masked(prior):
    assert try_prior(prior).warning is None


def test_prompts_decide_what_is_done(prior):
    """No path: most motions are nearest to their own prompt, 9 or 10 of 12 with three ranges of seeds; 4 by chance."""
    evaluator, asked = open_evaluator("cmu"), [prompt for prompt in PROMPTS for _ in range(4)]
    x = sample_motions(prior, asked, [120] * 12, range(12), guidance=3.0)
    motions, texts = evaluator.motions(list(x[:, :120])), evaluator.texts(PROMPTS)
    nearest = np.linalg.norm(motions[:, None] - texts, axis=-1).argmin(axis=1)
    assert sum(PROMPTS[near] == own for near, own in zip(nearest, asked, strict=True)) >= 7


def test_running_is_faster_than_standing_about(prior):
    """All masked: by the mean of the first tokens alone."""
    tokens = torch.full((2, prior.num_tokens), prior.mask_id)
    log_p = prior.log_probs(tokens, 1, prior.condition(["a person runs", "a person is washing windows"], [1.0, 1.0]))
    x = prior.decode(prior.codebook.T @ log_p.exp())
    speeds = x[:, :, 1:3].norm(dim=-1).mean(1)
    assert speeds[0] > 1.5 * speeds[1]


def test_rows_are_the_same_to_the_bit_in_any_batch(prior):
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(512, (3, prior.num_tokens), generator=generator)
    noisy = torch.where(torch.rand(tokens.shape, generator=generator) < 0.5, prior.mask_id, tokens)
    shapes, prompts = [(length, FEATURES) for length in LENGTHS], ["a person walks", "a person jumps", ""]
    together = prior.condition(prompts, [1.0] * 3, shapes)
    x, log_p = prior.decode(prior.codebook[tokens].mT, together.active), prior.log_probs(noisy, 1, together)
    for row in range(3):
        here = slice(row, row + 1)
        alone = prior.condition(prompts[here], [1.0], shapes[here])
        assert torch.equal(prior.decode(prior.codebook[tokens[here]].mT, alone.active), x[here])
        assert torch.equal(prior.log_probs(noisy[here], 1, alone), log_p[here])


def test_what_it_decodes_are_bodies(prior):
    """Bones of reconstructed tokens are about as long as those of the reference body."""
    tokens = torch.randint(512, (2, prior.num_tokens), generator=torch.Generator().manual_seed(0))
    joints = joints_from_features(prior.decode(prior.codebook[tokens].mT))
    thigh = (joints[:, :, 4] - joints[:, :, 1]).norm(dim=-1)
    assert thigh.mean().item() == pytest.approx(0.39, abs=0.08)
