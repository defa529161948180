"""The masked image prior: aMUSEd's conventions, guidance, tokens that are kept, frozen networks, rows to the bit."""

import math
from types import SimpleNamespace

import pytest
import torch

from g2d2.methods.g2d2 import G2D2
from g2d2.priors import Condition, probe
from g2d2.priors.masked_image.masked_prior import CARRY_OVER, MaskedImagePrior
from g2d2.priors.masked_image.random_masked import (
    AMUSED_256,
    AMUSED_512,
    TINY_MASKED,
    random_masked_parts,
    random_masked_prior,
)
from g2d2.priors.trial import try_prior
from g2d2.sampling import LOG_FLOOR
from operators import build_operator, measure

CODES, MASK = TINY_MASKED.codes, TINY_MASKED.vocabulary - 1
PROMPTS = ["a frog", "b", "", "a frog"]


@pytest.fixture(scope="module")
def prior():
    return random_masked_prior()


def tokens(prior, rows, masked=0.5):
    generator = torch.Generator().manual_seed(0)
    z = torch.randint(CODES, (rows, prior.num_tokens), generator=generator)
    return z.masked_fill(torch.rand(z.shape, generator=generator) < masked, MASK)


def all_masked(prior, rows):
    return torch.full((rows, prior.num_tokens), MASK)


def stock(prior):
    from diffusers.pipelines.deprecated.amused.pipeline_amused import AmusedPipeline

    pipeline = AmusedPipeline(**vars(prior.parts))
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def test_the_mask_is_the_last_id_and_not_the_first_after_the_codes(prior):
    assert prior.mask_id == MASK == 11
    assert prior.schedule.mask_id == CODES == 8
    assert prior.x_shape == (3, 8, 8)
    assert prior.codebook.shape == (8, 4)


@pytest.mark.parametrize("guidance", [1.0, 3.0])
def test_logits_and_images_are_those_of_the_stock_pipeline(prior, guidance, monkeypatch):
    """The pipeline runs with its own parts; what its transformer says, guided, is what the scheduler is given."""
    pipeline, asked = stock(prior), []
    step = pipeline.scheduler.step

    def spy(model_output, timestep, sample, **options):
        asked.append((sample.flatten(1), model_output.flatten(2)))
        return step(model_output=model_output, timestep=timestep, sample=sample, **options)

    monkeypatch.setattr(pipeline.scheduler, "step", spy)
    options = {"generator": torch.Generator().manual_seed(0), "num_inference_steps": 3, "guidance_scale": guidance}
    images = torch.from_numpy(pipeline(PROMPTS, output_type="np", **options).images).permute(0, 3, 1, 2)
    condition = prior.condition(PROMPTS, [guidance] * 4)
    assert len(asked) == 3
    for z, logits in asked:
        expected = logits.log_softmax(1)
        got, masked = prior.log_probs(z, 1, condition), (z == MASK).unsqueeze(1).expand(-1, CODES, -1)
        torch.testing.assert_close(got[masked], expected[masked], rtol=1e-4, atol=1e-4)
    options["generator"] = torch.Generator().manual_seed(0)
    z = pipeline(PROMPTS, output_type="latent", **options).images.flatten(1)
    mine = prior.decode(prior.codebook[z].mT)
    torch.testing.assert_close((mine / 2 + 0.5).clip(0, 1), images, rtol=1e-4, atol=1e-5)


def test_guidance_zero_is_the_empty_prompt_and_costs_one_pass(prior, monkeypatch):
    seen, run = [], prior._fill_in
    monkeypatch.setattr(prior, "_fill_in", lambda z, *states: seen.append(len(z)) or run(z, *states))
    z = tokens(prior, 4)
    blank = prior.log_probs(z, 5, prior.condition(["a"] * 4, [0.0] * 4))
    assert torch.equal(blank, prior.log_probs(z, 5, prior.condition([""] * 4, [7.0] * 4)))
    assert not torch.allclose(blank, prior.log_probs(z, 5, prior.condition(["a"] * 4, [1.0] * 4)))
    condition = prior.condition(["a"] * 4, [0.0, 1.0, 2.0, 5.0])
    prior.log_probs(z, 5, condition)
    assert seen == [4, 4, 4, 6]
    assert condition.passes.tolist() == [1, 1, 2, 2]


@pytest.mark.parametrize("least", [CARRY_OVER, 0.1, 1e-6])
def test_kept_tokens_stay_at_least_so_often_and_masked_ones_are_the_networks(prior, least):
    """Below the least the other codes are scaled down together; above it the network's answer is left alone."""
    z, condition = tokens(prior, 3), prior.condition(["a"] * 3, [1.0] * 3)
    own, log_p = (MaskedImagePrior(prior.parts, carry_over=p).log_probs(z, 5, condition) for p in (0.0, least))
    torch.testing.assert_close(log_p.exp().sum(1), torch.ones(3, prior.num_tokens))
    masked = (z == MASK).unsqueeze(1).expand_as(log_p)
    assert torch.equal(own[masked], log_p[masked])
    index = z.clamp(max=CODES - 1)[:, None]
    before = own.exp().gather(1, index)
    after = before.clamp(min=least)
    expected = (own.exp() * (1 - after) / (1 - before)).scatter(1, index, after)
    torch.testing.assert_close(log_p.exp()[~masked], expected[~masked], rtol=1e-4, atol=1e-6)
    if least == 1e-6:
        assert torch.equal(log_p, own)


def test_a_hard_carry_over_leaves_nothing_to_the_network(prior):
    hard = MaskedImagePrior(prior.parts, carry_over=1.0)
    z = tokens(prior, 2, masked=0.0)
    log_p = hard.log_probs(z, 5, hard.condition(["a"] * 2, [3.0] * 2))
    expected = torch.full_like(log_p, LOG_FLOOR).scatter_(1, z[:, None], 0.0)
    assert torch.equal(log_p, expected)


def test_time_changes_nothing_and_any_number_of_steps_will_do(prior):
    z, condition = tokens(prior, 2), prior.condition(["a"] * 2, [2.0] * 2)
    assert torch.equal(prior.log_probs(z, 1, condition), prior.log_probs(z, 1000, condition))
    assert prior.schedule.levels(12)[0] == prior.schedule.train_steps == 1000
    for n in (0, 250, 500, 1000):
        share = math.cos(math.pi / 2 * (1 - n / 1000))
        assert prior.schedule.between(0, n).gamma == pytest.approx(share, abs=1e-9)
        assert prior.schedule.between(0, n).beta == 0


def test_a_linear_masking_schedule_is_taken_from_the_scheduler():
    parts = random_masked_parts()
    parts.scheduler.register_to_config(masking_schedule="linear")
    assert MaskedImagePrior(parts).schedule.between(0, 250).gamma == pytest.approx(0.25)


def test_micro_conditions_and_text_reach_the_transformer(prior, monkeypatch):
    asked = {}
    monkeypatch.setattr(
        prior.parts.transformer, "forward", lambda ids, **rest: asked.update(rest, ids=ids) or torch.zeros(2, 8, 4, 4)
    )
    prior.log_probs(all_masked(prior, 2), 3, prior.condition(["a cat", "b"], [1.0] * 2))
    assert asked["micro_conds"].tolist() == [[8.0, 8.0, 0.0, 0.0, 6.0]] * 2
    assert asked["ids"].shape == (2, 4, 4)
    ids = prior.parts.tokenizer(["a cat", "b"], padding="max_length", return_tensors="pt").input_ids
    output = prior.parts.text_encoder(ids, output_hidden_states=True)
    torch.testing.assert_close(asked["encoder_hidden_states"], output.hidden_states[-2])
    torch.testing.assert_close(asked["pooled_text_emb"], output.text_embeds)


def test_networks_are_frozen_and_the_decoder_is_differentiable(prior):
    for network in (prior.parts.vqvae, prior.parts.transformer, prior.parts.text_encoder):
        assert not network.training
        assert not any(p.requires_grad for p in network.parameters())
    embeddings = torch.randn(2, 4, prior.num_tokens, requires_grad=True)
    prior.decode(embeddings).sum().backward()
    assert embeddings.grad.abs().sum() > 0


def test_x_on_minus_one_to_one_is_zero_to_one_inside(prior, monkeypatch):
    seen, encode = [], prior.parts.vqvae.encode
    monkeypatch.setattr(prior.parts.vqvae, "encode", lambda pixels: seen.append(pixels) or encode(pixels))
    x = torch.linspace(-1, 1, 2 * 3 * 64).view(2, 3, 8, 8)
    z = prior.encode(x)
    assert z.shape == (2, prior.num_tokens)
    assert (z < CODES).all()
    assert seen[0].min() == 0
    assert seen[0].max() == 1
    monkeypatch.setattr(prior, "_decode", lambda grid: torch.ones(len(grid), 3, 8, 8))
    monkeypatch.setattr(prior, "_run_decoder", lambda grid: torch.zeros(len(grid), 3, 8, 8))
    assert (prior.decode(torch.zeros(1, 4, 16)) == -1).all()
    assert (prior.decode(torch.zeros(1, 4, 16, requires_grad=True)) == 1).all()


def test_in_float16_the_vqgan_stays_in_float32():
    prior = random_masked_prior(dtype=torch.float16)
    assert prior.parts.vqvae.dtype == torch.float32
    assert prior.parts.transformer.dtype == prior.parts.text_encoder.dtype == torch.float16
    assert random_masked_prior(dtype=torch.bfloat16).parts.vqvae.dtype == torch.bfloat16
    z = tokens(prior, 2)
    assert prior.log_probs(z, 5, prior.condition(["a"] * 2, [2.0, 1.0])).dtype == torch.float32
    plain = random_masked_prior()
    embeddings = plain.codebook[z.clamp(max=7)].mT
    assert torch.equal(prior.decode(embeddings), plain.decode(embeddings))


def test_channels_last_agrees(prior):
    other = random_masked_prior(channels_last=True)
    embeddings = prior.codebook[tokens(prior, 2).clamp(max=7)].mT
    torch.testing.assert_close(other.decode(embeddings), prior.decode(embeddings), rtol=1e-4, atol=1e-5)


def test_a_precision_that_spoils_the_answers_is_refused(monkeypatch):
    monkeypatch.setitem(probe.TOLERANCES, torch.bfloat16, 1e-6)
    with pytest.raises(probe.InputError, match="dtype bfloat16: the"):
        random_masked_prior(dtype=torch.bfloat16)


def test_each_prompt_is_encoded_once(monkeypatch):
    prior = random_masked_prior()
    calls, run = [], prior._prompts.encode
    monkeypatch.setattr(prior._prompts, "encode", lambda texts: calls.append(texts) or run(texts))
    prior.condition(["cat", "dog", "cat"], [1.0] * 3)
    prior.condition(["dog", "frog", "never"], [1.0, 1.0, 0.0])
    assert calls == [["cat", "dog"], ["", "frog"]]


def test_a_condition_selects_its_pooled_states_too(prior):
    condition = prior.condition(["a", "b", "c"], [1.0, 2.0, 3.0])
    some = condition.select(slice(1, 3))
    assert isinstance(some, Condition)
    assert torch.equal(some.pooled, condition.pooled[1:])
    assert torch.equal(some.embeddings, condition.embeddings[1:])


@pytest.mark.parametrize("rows", [1, 2, 3, 9])
def test_a_row_has_the_same_bits_in_any_batch(prior, rows):
    prompts, scales = list("abcdefghi"), [1.0, 3.0, 0.0] * 3
    z = tokens(prior, 9)
    embeddings = prior.codebook[z.clamp(max=7)].mT.clone().requires_grad_()
    log_p, x = prior.log_probs(z, 5, prior.condition(prompts, scales)), prior.decode(embeddings)
    (gradient,) = torch.autograd.grad(x.square().sum(), embeddings)
    fresh = random_masked_prior()
    for start in range(0, 9, rows):
        some = slice(start, start + rows)
        assert torch.equal(fresh.log_probs(z[some], 5, fresh.condition(prompts[some], scales[some])), log_p[some])
        part = embeddings[some].detach().requires_grad_()
        assert torch.equal(fresh.decode(part), x[some])
        assert torch.equal(torch.autograd.grad(fresh.decode(part).square().sum(), part)[0], gradient[some])
        assert torch.equal(fresh.encode(x[some].detach()), prior.encode(x.detach())[some])


def solved(prior, rows):
    """Star (0) and Markov (1) on two measurements."""
    operator = build_operator("super_resolution", {"factor": 2}, x_shape=(3, 8, 8))
    truth = torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(1)) * 2 - 1
    y = measure(operator, truth, sigma=0.05, seeds=[0, 1])
    method = G2D2()
    settings = [method.settings(steps=5, iterations=3, process=("star", "markov")[row]) for row in rows]
    prompts = [("a frog", "b")[row] for row in rows]
    return method.run(prior, operator, y[rows], settings, prompts=prompts, seeds=rows)


def test_star_and_markov_run_and_a_row_does_not_see_its_batch(prior):
    both = solved(prior, [0, 1])
    assert both.x.isfinite().all()
    assert both.latent.shape == (2, prior.num_tokens)
    assert (both.latent < CODES).all()
    assert both.curves["masked"][:, 0].tolist() == [prior.num_tokens] * 2
    assert (both.curves["remasked"][1] == 0).all()  # the mask absorbs under Markov
    for row in (0, 1):
        alone = solved(prior, [row])
        assert torch.equal(alone.x[0], both.x[row])
        assert torch.equal(alone.latent[0], both.latent[row])


def test_markov_never_changes_a_token_that_is_not_masked(prior, monkeypatch):
    """There are no moves between codes, so a token once drawn is the final one."""
    seen, ask = [], prior.log_probs
    monkeypatch.setattr(prior, "log_probs", lambda z, *rest: seen.append(z.clone()) or ask(z, *rest))
    final = solved(prior, [1]).latent
    for z in seen:
        drawn = z != MASK
        assert torch.equal(z[drawn], final[drawn])
    assert (seen[-1] != MASK).any()


def test_the_trial_of_prior_check_is_passed(prior):
    trial = try_prior(prior)
    assert trial.warning is None
    assert "kept with p = 0.900" in trial.words


@pytest.mark.parametrize(("shape", "millions", "side"), [(AMUSED_256, 604, 256), (AMUSED_512, 608, 512)])
def test_the_published_shapes(shape, millions, side):
    with torch.device("meta"):
        parts = random_masked_parts(shape)
    assert round(sum(p.numel() for p in parts.transformer.parameters()) / 1e6) == millions
    prior = MaskedImagePrior(parts, device="meta")
    assert prior.x_shape == (3, side, side)
    assert (prior.mask_id, len(prior.codebook), prior.num_tokens) == (8255, 8192, (side // 16) ** 2)
    condition = prior.condition(["a", "b"], [1.0, 10.0])
    z = torch.empty(2, prior.num_tokens, dtype=torch.long, device="meta")
    assert prior.log_probs(z, 3, condition).shape == (2, 8192, prior.num_tokens)
    assert prior.decode(torch.empty(2, 64, prior.num_tokens, device="meta")).shape == (2, 3, side, side)


def test_a_model_that_works_at_half_the_resolution_runs():
    shape = SimpleNamespace(**vars(TINY_MASKED) | {"halved": True})
    prior = random_masked_prior(shape)
    log_p = prior.log_probs(tokens(prior, 2), 5, prior.condition(["a"] * 2, [2.0] * 2))
    assert log_p.shape == (2, CODES, prior.num_tokens)
    assert log_p.isfinite().all()
