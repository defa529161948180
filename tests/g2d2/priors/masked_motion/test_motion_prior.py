"""Masked motion priors: rows of their own lengths, ids beyond the codes, prompts, and what a solver needs of them."""

import pytest
import torch

from g2d2.methods import Recorder, find_method
from g2d2.priors.base import Condition
from g2d2.priors.masked_motion.motion_transformer import sinusoids
from g2d2.priors.masked_motion.random_motion import MMM, TINY_MOTION, random_motion_components, random_motion_prior
from operators import InputError, build_operator, stack_operators
from operators.skeleton import FEATURES

LENGTHS = (32, 30, 9, 21, 4)


@pytest.fixture(scope="module")
def prior():
    return random_motion_prior()


def shapes(lengths):
    return [(length, FEATURES) for length in lengths]


def embeddings(prior, rows, seed=0):
    tokens = torch.randint(len(prior.codebook), (rows, prior.num_tokens), generator=torch.Generator().manual_seed(seed))
    return prior.codebook[tokens].mT


def noisy_tokens(prior, rows):
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(len(prior.codebook), (rows, prior.num_tokens), generator=generator)
    return torch.where(torch.rand(tokens.shape, generator=generator) < 0.5, prior.mask_id, tokens)


def test_shape_ids_and_schedule(prior):
    assert prior.signal == "motion"
    assert prior.x_shape == (32, FEATURES)
    assert prior.num_tokens == 8
    assert prior.mask_id == len(prior.codebook) + 2 != prior.schedule.mask_id
    assert prior.schedule.between(0, prior.schedule.train_steps).gamma == 1


def test_tokens_that_have_a_frame_are_active(prior):
    active = prior.condition(["a"] * len(LENGTHS), [1.0] * len(LENGTHS), shapes(LENGTHS)).active
    assert active.sum(1).tolist() == [8, 8, 3, 6, 1]
    assert prior.condition(["a"], [1.0]).active.all()


@pytest.mark.parametrize("length", [32, 30, 9, 4])
def test_a_row_decodes_as_the_tokeniser_does_at_its_own_length(prior, length):
    """Convolutions see none of what lies beyond the end, whatever stands there."""
    count = -(-length // 4)
    given = embeddings(prior, 1)
    other = given.clone()
    other[:, :, count:] = 100.0
    active = prior.condition(["a"], [1.0], shapes([length])).active
    alone = prior.normalisation.restore(prior.components.vqvae.decode(given[:, :, :count]))
    for some in (given, other):
        decoded = prior.decode(some, active)
        assert decoded.shape == (1, 32, FEATURES)
        assert torch.allclose(decoded[:, : 4 * count], alone, atol=1e-5)
        assert not decoded[:, 4 * count :].any()


@pytest.mark.parametrize("rows", [1, 2, 3, 9, 20])
def test_rows_of_other_lengths_beside_it_change_no_bit(prior, rows):
    lengths = [LENGTHS[row % len(LENGTHS)] for row in range(rows)]
    given, noisy = embeddings(prior, rows).requires_grad_(), noisy_tokens(prior, rows)
    prompts, guidance = ["ab", "a person"] * rows, [1.0, 2.0, 0.0] * rows
    condition = prior.condition(prompts[:rows], guidance[:rows], shapes(lengths))
    x, log_p = prior.decode(given, condition.active), prior.log_probs(noisy, 3, condition)
    (gradient,) = torch.autograd.grad(x.square().sum(), given)
    for row in range(rows):
        here = slice(row, row + 1)
        alone = given[here].detach().requires_grad_()
        own = prior.condition(prompts[here], guidance[here], shapes(lengths[here]))
        own_x = prior.decode(alone, own.active)
        assert torch.equal(own_x, x[here])
        assert torch.equal(torch.autograd.grad(own_x.square().sum(), alone)[0], gradient[here])
        assert torch.equal(prior.log_probs(noisy[here], 3, own), log_p[here])


def test_distributions_are_normalised_and_see_nothing_beyond_the_end(prior):
    noisy, condition = noisy_tokens(prior, 2), prior.condition(["a", "b"], [1.0, 1.0], shapes([12, 32]))
    log_p = prior.log_probs(noisy, 5, condition)
    assert log_p.shape == (2, len(prior.codebook), prior.num_tokens)
    assert torch.allclose(log_p.exp().sum(1), torch.ones(2, prior.num_tokens), atol=1e-5)
    changed = noisy.clone()
    changed[:, 3:] = 0
    after = prior.log_probs(changed, 5, condition)
    assert torch.equal(after[0, :, :3], log_p[0, :, :3])
    assert not torch.equal(after[1, :, :3], log_p[1, :, :3])


def test_a_length_decides_where_the_end_stands(prior):
    noisy = noisy_tokens(prior, 1)
    ends = [prior.log_probs(noisy, 5, prior.condition(["a"], [1.0], shapes([length]))) for length in (12, 20)]
    assert not torch.allclose(ends[0][0, :, :3], ends[1][0, :, :3])


def test_levels_are_nothing_to_the_network(prior):
    noisy, condition = noisy_tokens(prior, 2), prior.condition(["a", "b"], [1.0, 1.0])
    assert torch.equal(prior.log_probs(noisy, 1, condition), prior.log_probs(noisy, 99, condition))


def test_guidance_mixes_the_prompt_with_the_empty_one(prior):
    noisy = noisy_tokens(prior, 1).expand(3, -1)
    log_p = prior.log_probs(noisy, 5, prior.condition(["run"] * 3, [1.0, 0.0, 3.0]))
    mixed = (3 * log_p[0] - 2 * log_p[1]).log_softmax(0)
    assert torch.allclose(log_p[2], mixed, atol=1e-4)
    empty = prior.log_probs(noisy[:1], 5, prior.condition([""], [1.0]))
    assert torch.equal(log_p[1:2], empty)


def test_a_long_prompt_is_refused(prior):
    with pytest.raises(InputError, match="allows 16"):
        prior.condition(["a very long prompt"], [1.0])


def test_encoding_gives_tokens_of_what_was_decoded_and_refuses_other_lengths(prior):
    x = torch.randn(2, 21, FEATURES)
    tokens = prior.encode(x)
    assert tokens.shape == (2, 8)
    assert not tokens[:, 6:].any()
    z = prior.normalisation.normalise(torch.cat([x, x[:, -1:].expand(-1, 3, -1)], dim=1))
    latents = prior.components.vqvae.encode(z)
    assert torch.equal(tokens[:, :6], torch.cdist(latents.mT, prior.codebook).argmin(-1))
    with pytest.raises(InputError, match="1 to 32"):
        prior.encode(torch.randn(1, 33, FEATURES))


def test_half_precision_is_tried_and_float64_is_whole():
    low = random_motion_prior(dtype=torch.bfloat16)
    assert low.decode(embeddings(low, 1).float()).dtype == torch.float32
    double = random_motion_prior(dtype=torch.float64)
    assert double.decode(embeddings(double, 1)).dtype == torch.float64


@pytest.mark.parametrize(("process", "final"), [("star", "argmax"), ("markov", "argmax"), ("star", "sample")])
def test_paths_are_followed_by_rows_of_other_lengths(prior, process, final):
    """The misfit falls, and each row equals itself alone to the bit."""
    method = find_method("g2d2")
    lengths = (32, 23)
    made = [prior.decode(embeddings(prior, 1, seed=7))[:, :length] for length in lengths]
    operators = [build_operator("path", {"keyframes": 5, "seed": 3}, x_shape=(length, FEATURES)) for length in lengths]
    measured = [operator(x) for operator, x in zip(operators, made, strict=True)]
    settings = method.settings(steps=6, iterations=10, guidance=1, learning_rate=1.0, process=process, final=final)
    both = method.run(
        prior, stack_operators(operators), torch.cat(measured), settings, prompts=["a", "b"], seeds=[0, 1]
    )
    likelihood = torch.as_tensor(both.curves["likelihood"])
    assert likelihood[0, -1] < 0.7 * likelihood[0, 0]
    for row, length in enumerate(lengths):
        alone = method.run(prior, operators[row], measured[row], settings, prompts="ab"[row], seeds=[row])
        assert torch.equal(alone.x[0, :length], both.x[row, :length])
    assert not both.x[1, 24:].any()


def test_places_are_sines_and_cosines():
    table = sinusoids(51, 64)
    assert table[0, 0::2].abs().max() == 0
    assert torch.equal(table[0, 1::2], torch.ones(32))
    assert table[7, 0] == pytest.approx(torch.sin(torch.tensor(7.0)).item())


def test_random_priors_are_the_same_for_the_same_seed():
    one, two, other = (random_motion_components(TINY_MOTION, seed).transformer for seed in (0, 0, 1))
    assert torch.equal(one.head.weight, two.head.weight)
    assert not torch.equal(one.head.weight, other.head.weight)


def test_the_published_shape_fits_the_module():
    """153 million parameters on no device at all."""
    from g2d2.priors.masked_motion.motion_transformer import MotionTransformer
    from g2d2.priors.masked_motion.motion_vqvae import MotionVQVAE

    with torch.device("meta"):
        vqvae = MotionVQVAE(width=MMM.width, depth=MMM.depth, codes=MMM.codes, code_width=MMM.code_width)
        transformer = MotionTransformer(width=MMM.token_width, heads=MMM.heads, layers=MMM.layers)
        tokens = torch.zeros(1, vqvae.num_tokens, dtype=torch.int64)
        logits = transformer(tokens, tokens == 0, torch.zeros(1, 512), torch.zeros(1, 77, 512))
        x = vqvae.decode(torch.zeros(1, 32, 49), tokens == 0)
    assert logits.shape == (1, 8192, 49)
    assert x.shape == (1, 196, FEATURES)
    assert transformer.head.bias is None


def test_a_condition_keeps_its_lengths_where_rows_are_chosen(prior):
    condition = prior.condition(["a"] * 2, [1.0] * 2, shapes([8, 32]))
    assert isinstance(condition.select(slice(1, 2)), Condition)
    assert condition.select(slice(0, 1)).active.sum() == 2


@pytest.mark.parametrize("process", ["star", "markov"])
def test_no_value_is_read_on_the_host(process):
    """Lengths are known beforehand; on torch's meta device reading one would raise."""
    prior = random_motion_prior(device="meta")
    method = find_method("g2d2")
    operators = [build_operator("path", {"keyframes": 3, "seed": 3}, x_shape=(length, FEATURES)) for length in (32, 23)]
    stacked = stack_operators(operators)
    settings = method.settings(steps=3, iterations=2, guidance=2.0, process=process)
    batch = method.batch(prior, stacked.to("meta"), torch.zeros(2, 3, 1, 3), settings, prompts=["a", "b"], seeds=[0, 1])
    x = method.restore(prior, batch, Recorder(batch.y.device))
    assert x.device.type == "meta"
    assert x.shape == (2, 32, FEATURES)
