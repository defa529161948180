"""The comparison is fair only if both sides minimise the same objective."""

from dataclasses import replace

import pytest
import torch

from bench.problems import PROBLEMS, PROMPT
from bench.published_loop import DenseBlur, restore_as_published
from bench.published_method import PublishedLoop
from g2d2.methods.g2d2 import G2D2
from g2d2.randomness import RowRandom
from operators import InputError, build_operator

SEED = 3


@pytest.mark.parametrize("guidance", [5.0, 1.0])
@pytest.mark.parametrize(("steps", "iterations"), [(1, 8), (4, 3)])
def test_losses_agree_with_the_solver_on_the_same_noise(guidance, steps, iterations):
    """With several steps also what is drawn, masked, truncated (`rounded`) and asked of the prior (`one-level`)."""
    problem = replace(PROBLEMS["tiny"], steps=steps, iterations=iterations)
    settings = G2D2().settings(
        "reference", process="star", guidance=guidance, learning_rate=0.5, steps=steps, iterations=iterations
    )
    assert (settings.truncation, settings.spacing) == ("rounded", "one-level")
    y = problem.measurements(1)
    random = RowRandom([SEED], "cpu")
    published = restore_as_published(
        problem.components(),
        DenseBlur(problem.blur_settings()),
        y,
        settings,
        PROMPT,
        gumbel=lambda shape, step, iteration: random.gumbel("relaxation", shape[1:], step, iteration),
        token_gumbel=lambda shape, step, _: random.gumbel("tokens", (shape[1] + 1, shape[2]), step)[:, :-1],
        mask_order=lambda count, step: random.uniform("masks", (count,), step)[0].argsort(),
    )
    solution = G2D2().run(problem.prior(), problem.operator(), y, settings, prompts=PROMPT, seeds=[SEED])
    ours = torch.stack([solution.curves[name] for name in ("total", "likelihood", "kl")], dim=-1)[0]  # (iterations, 3)
    torch.testing.assert_close(ours, torch.tensor(published.losses), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(solution.x, published.image, rtol=1e-3, atol=1e-3)
    assert published.losses[-1] != published.losses[0]


@pytest.mark.parametrize("changes", [{}, {"process": "markov"}])
def test_noise_that_it_does_not_run_is_refused(changes):
    """Preset `reference` is markov by itself."""
    problem, method = PROBLEMS["tiny"], PublishedLoop()
    settings = method.settings("reference", steps=1, iterations=1, **changes)
    with pytest.raises(InputError, match="runs star noise here, not markov; set it to star"):
        method.check(None, problem.operator(), settings)
    with pytest.raises(InputError, match="not markov"):
        method.run(problem.prior(), problem.operator(), problem.measurements(1), settings, seeds=[1])


def test_every_weight_collects_a_gradient_on_the_published_side():
    problem = replace(PROBLEMS["tiny"], steps=1, iterations=1)
    parts, blur = problem.components(), DenseBlur(problem.blur_settings())
    settings = G2D2().settings(steps=1, iterations=1)
    image = restore_as_published(parts, blur, problem.measurements(1), settings, PROMPT).image
    assert image.shape == (1, 3, 8, 8)
    assert blur.kernel.grad is not None
    assert all(weight.grad is not None for weight in parts.vqvae.decoder.parameters())


def test_dense_blur_equals_the_operator():
    problem = PROBLEMS["small"]
    x = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(DenseBlur(problem.blur_settings())(x), problem.operator()(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("task", ["gaussian-deblur-8", "super_resolution"])
def test_as_a_method_each_row_is_the_loop_with_its_own_seed(task):
    problem = replace(PROBLEMS["tiny"], steps=2, iterations=2)
    prior, y = problem.prior(), problem.measurements(2)
    operator, forward = problem.operator(), DenseBlur(problem.blur_settings())
    if task == "super_resolution":
        operator = forward = build_operator("super_resolution", {"factor": 4}, x_shape=(3, 8, 8)).to(
            dtype=torch.float32
        )
        y = operator(y)
    method = PublishedLoop()
    settings = [
        method.settings("reference", process="star", steps=2, iterations=2, gamma=gamma) for gamma in (0.3, 0.7)
    ]
    solution = method.run(prior, operator, y, settings, prompts=PROMPT, seeds=[5, 6])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(6)
        second = restore_as_published(problem.components(), forward, y[1:], settings[1], PROMPT).image
    torch.testing.assert_close(solution.x[1:], second, rtol=1e-4, atol=1e-5)
    alone = method.run(prior, operator, y[1:], settings[1:], prompts=PROMPT, seeds=[6])
    assert torch.equal(solution.x[1:], alone.x)
    assert not torch.equal(solution.x[:1], solution.x[1:])
    assert solution.decoder_calls.tolist() == [2 * 2 + 1] * 2
    assert not any(weight.requires_grad for weight in prior.components.vqvae.parameters())
