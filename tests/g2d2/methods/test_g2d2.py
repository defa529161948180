"""The loop: rows are independent and reproducible, recording changes nothing, bad input is named."""

import copy

import pytest
import torch

from g2d2.methods.g2d2 import G2D2
from g2d2.priors import load_prior, random_prior
from g2d2.transitions import log_markov_marginal
from operators import TASKS, InputError, build_operator, measure, stack_operators

SIZE = 6
METHOD = G2D2()
settings, solve = METHOD.settings, METHOD.run


@pytest.fixture(scope="module")
def prior():
    return random_prior(dtype=torch.float64)


@pytest.fixture(scope="module")
def operator(prior):
    return build_operator("super_resolution", {"factor": 2}, x_shape=prior.x_shape)


@pytest.fixture(scope="module")
def y(prior, operator):
    truth = torch.rand(SIZE, *prior.x_shape, generator=torch.Generator().manual_seed(0)).mul(2).sub(1).double()
    return measure(operator, truth, sigma=0.05, seeds=range(SIZE))


SHORT = {"steps": 5, "iterations": 7}
ROWS = [
    settings(process="star", eta_kl=0.0003, gamma=0.3, learning_rate=1.0, guidance=1.0, **SHORT),
    settings(process="markov", eta_kl=0.01, gamma=1.0, learning_rate=2.0, guidance=0.0, **SHORT),
    settings(process="star", eta_kl=0.1, gamma=0.0, lambda_kl=0.0, temperature=0.5, guidance=3.0, **SHORT),
    settings(process="markov", lambda_lr=2.0, learning_rate=0.5, temperature=2.0, **SHORT),
    settings(process="star", **SHORT),
    settings(process="markov", **SHORT),
]
PROMPTS = ["a", "b", "a", "c", "", "a photo"]
SEEDS = [11, 12, 13, 14, 15, 2**50]


@pytest.fixture(scope="module")
def together(prior, operator, y):
    return solve(prior, operator, y, ROWS, prompts=PROMPTS, seeds=SEEDS)


def one(prior, operator, y, i, **more):
    return solve(prior, operator, y[i : i + 1], [ROWS[i]], prompts=[PROMPTS[i]], seeds=[SEEDS[i]], **more)


@pytest.mark.parametrize("i", range(SIZE))
def test_a_row_is_the_same_alone_and_in_a_mixed_batch(prior, operator, y, together, i):
    alone = one(prior, operator, y, i)
    assert torch.equal(alone.latent[0], together.latent[i])
    torch.testing.assert_close(alone.x[0], together.x[i], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(alone.curves["total"][0], together.curves["total"][i], rtol=1e-9, atol=1e-9)


def test_a_batch_of_64_in_another_order_changes_no_row(prior, operator, y, together):
    order = [int(i) for i in torch.randperm(64, generator=torch.Generator().manual_seed(1)) % SIZE]
    many = solve(
        prior,
        operator,
        y[order],
        [ROWS[i] for i in order],
        prompts=[PROMPTS[i] for i in order],
        seeds=[SEEDS[i] for i in order],
    )
    assert torch.equal(many.latent, together.latent[order])
    torch.testing.assert_close(many.x, together.x[order], rtol=1e-9, atol=1e-9)


def test_recording_changes_nothing(prior, operator, y, together):
    torch.manual_seed(0)
    before = torch.get_rng_state()
    recorded = solve(prior, operator, y, ROWS, prompts=PROMPTS, seeds=SEEDS, snapshots_at=[5, 3, 1])
    assert torch.equal(recorded.x, together.x)
    assert torch.equal(torch.get_rng_state(), before)
    assert sorted(recorded.snapshots) == [1, 3, 5]
    assert recorded.snapshots[3].shape == (SIZE, *prior.x_shape)


def test_another_seed_gives_another_result(prior, operator, y, together):
    other = solve(prior, operator, y, ROWS, prompts=PROMPTS, seeds=[seed + 1 for seed in SEEDS])
    assert all(not torch.equal(other.latent[i], together.latent[i]) for i in range(SIZE))


def test_curves_have_the_shape_they_promise_and_add_up(together):
    curves = together.curves
    assert curves["total"].shape == curves["likelihood"].shape == curves["kl"].shape == (SIZE, 5 * 7)
    assert curves["masked"].shape == curves["remasked"].shape == (SIZE, 5)
    assert together.levels == [10, 8, 6, 4, 2]
    weight = 10 ** (2.0 / 2 * (2 * 5 / 5 - 1))  # eta_KL's weight at the first step
    expected = curves["likelihood"][0, :7] + 0.0003 * weight * curves["kl"][0, :7]
    torch.testing.assert_close(curves["total"][0, :7], expected)
    assert curves["masked"][:, 0].tolist() == [16] * SIZE
    assert together.seconds > 0
    assert together.peak_bytes > 0
    row = together.record(0)
    assert {name: row[name].tolist() for name in curves} == {name: curves[name][0].tolist() for name in curves}
    assert row["levels"].tolist() == together.levels


def test_markov_rows_never_mask_again_and_star_rows_do(together):
    markov = torch.tensor([row.process == "markov" for row in ROWS])
    assert together.curves["remasked"][markov].sum() == 0
    assert together.curves["remasked"][~markov].sum() > 0


def test_optimisation_fits_the_measurement(prior, operator):
    """With measurements the decoder can produce, the misfit falls far below its start."""
    tokens = torch.randint(0, 8, (4, prior.num_tokens), generator=torch.Generator().manual_seed(3))
    truth = prior.decode(prior.codebook[tokens].mT)
    y = measure(operator, truth, sigma=0.0, seeds=range(4))
    result = solve(
        prior,
        operator,
        y,
        settings(eta_kl=1e-5, learning_rate=20.0, guidance=1.0, steps=10, iterations=30),
        prompts="a",
        seeds=range(4),
    )
    first, last = result.curves["likelihood"][:, 0], result.curves["likelihood"][:, -1]
    assert (last < 0.5 * first).all(), (first, last)


def test_gamma_one_forgets_the_previous_step(prior, operator, y):
    """gamma is the weight of the prior: at 1 a step starts at the prior, where the KL is zero."""
    forgets = [row.model_copy(update={"gamma": 1.0}) for row in ROWS]
    keeps = [row.model_copy(update={"gamma": 0.0}) for row in ROWS]

    def first_kl(rows):
        """Of every step but the first, its first iteration's."""
        return solve(prior, operator, y, rows, prompts=PROMPTS, seeds=SEEDS).curves["kl"].unflatten(1, (5, 7))[:, 1:, 0]

    torch.testing.assert_close(first_kl(forgets), torch.zeros(SIZE, 4, dtype=torch.float64), atol=1e-9, rtol=0)
    assert (first_kl(keeps) > 1e-3).all()


def test_rows_may_have_their_own_operator(prior, y):
    single = [build_operator("random_inpainting", {"keep": 0.5, "seed": i}, x_shape=prior.x_shape) for i in range(3)]
    truth = torch.zeros(3, *prior.x_shape, dtype=torch.float64)
    stacked = stack_operators(single)
    y = measure(stacked, truth, sigma=0.05, seeds=range(3))
    together = solve(prior, stacked, y, ROWS[:3], prompts=PROMPTS[:3], seeds=SEEDS[:3])
    for i in range(3):
        alone = solve(prior, single[i], y[i : i + 1], [ROWS[i]], prompts=[PROMPTS[i]], seeds=[SEEDS[i]])
        assert torch.equal(alone.latent[0], together.latent[i])


OPTIONS = {
    "optimizer": "adam",
    "optimizer_memory": "run",
    "likelihood": "squared",
    "relaxation": ["gumbel-st", "expectation", "quantized-expectation"],
    "remasking": ["exact-count", "posterior-confidence"],
    "top_p": 0.9,
    "prior_top_p": 0.8,
    "final": ["argmax", "expectation"],
    "kl_gradient": "raw-logits",
    "weight_schedule": "endpoints",
    "spacing": "one-level",
    "discrepancy": 2.0,
    "lambda_iterations": 1.0,
    "gumbel_share": 0.5,
    "samples": 2,
}
NEEDS = {
    "memory_kept": (0.5, {"optimizer_memory": "run"}),
    "final_steps": (2, {"final": "expectation"}),
    "remasking_temperature": (5.0, {"remasking": "posterior-confidence"}),
}
"""Options that say more about another one."""


@pytest.mark.parametrize(
    ("field", "value"),
    [(f, v) for f, values in OPTIONS.items() for v in (values if isinstance(values, list) else [values])]
    + [(field, value) for field, (value, _) in NEEDS.items()],
)
def test_every_option_changes_the_result_and_keeps_rows_apart(prior, operator, y, field, value):
    base = {"steps": 4, "iterations": 6, "learning_rate": 1.0, "eta_kl": 0.05, "guidance": 1.0}
    base |= NEEDS[field][1] if field in NEEDS else {}
    plain = solve(prior, operator, y, settings(**base), prompts="a", seeds=SEEDS, sigma=0.5)
    changed = solve(prior, operator, y, settings(**base, **{field: value}), prompts="a", seeds=SEEDS, sigma=0.5)
    assert not (torch.equal(plain.x, changed.x) and torch.equal(plain.curves["total"], changed.curves["total"]))
    alone = solve(prior, operator, y[2:3], settings(**base, **{field: value}), prompts="a", seeds=SEEDS[2:3], sigma=0.5)
    torch.testing.assert_close(alone.x[0], changed.x[2], rtol=1e-8, atol=1e-8)


def test_a_row_rests_once_its_residual_is_that_of_the_noise(prior, operator, y):
    """Beyond that it would fit the noise; where nobody knows sigma, nothing rests."""
    alike = {"steps": 1, "iterations": 6, "relaxation": "expectation", "guidance": 1.0}
    rows = [settings(discrepancy=0.0, **alike), settings(discrepancy=100.0, **alike), settings(**alike)]
    for sigma, rests in ((0.5, [False, True, False]), (0.0, [False] * 3)):
        curves = solve(prior, operator, y[:3], rows, prompts="a", seeds=SEEDS[:3], sigma=sigma).curves["total"]
        assert [bool((curve == curve[0]).all()) for curve in curves] == rests


def test_iterations_fall_over_the_steps_and_the_recorded_ones_are_all(prior, operator, y):
    result = solve(prior, operator, y, settings(lambda_iterations=1.0, **SHORT), prompts="a", seeds=SEEDS)
    assert result.curves["total"].shape == (SIZE, 5 * 7)
    assert result.decoder_calls == 5 * 7 + 1


def test_moments_of_which_nothing_is_kept_are_those_of_a_step(prior, operator, y):
    forgotten = settings(optimizer_memory="run", memory_kept=0.0, **SHORT)
    result = solve(prior, operator, y, forgotten, prompts="a", seeds=SEEDS)
    assert torch.equal(result.x, solve(prior, operator, y, settings(**SHORT), prompts="a", seeds=SEEDS).x)


def test_samples_are_averaged_and_their_spread_is_told(prior, operator, y):
    batch = METHOD.batch(prior, operator, y, settings(samples=3, **SHORT), prompts="a", seeds=SEEDS)
    single = [
        solve(prior, operator, y, settings(**SHORT), prompts="a", seeds=batch.reseeded(sample).seeds).x
        for sample in range(3)
    ]
    result = solve(prior, operator, y, settings(samples=3, **SHORT), prompts="a", seeds=SEEDS)
    torch.testing.assert_close(result.x, torch.stack(single).mean(dim=0))
    torch.testing.assert_close(result.spread, torch.stack(single).std(dim=0))
    assert result.levels == [10, 8, 6, 4, 2] * 3
    assert result.decoder_calls == METHOD.work(settings(samples=3, **SHORT))[-1] + 3
    assert result.record(0)["spread"].shape == tuple(prior.x_shape)


def test_the_reference_preset_runs_both_processes(prior, operator, y):
    rows = [settings("reference", "ffhq-sr4", process=p, **SHORT) for p in ("markov", "star") * 3]
    result = solve(prior, operator, y, rows, prompts="a", seeds=SEEDS)
    assert result.x.isfinite().all()
    assert (result.latent < 8).all()


def test_work_counts_passes_as_they_are_taken(prior, operator, y):
    """With a prompt and without one, unless one of both has no weight."""
    for guidance, passes in ((0, 5), (1, 5), (5, 10)):
        one = settings(guidance=guidance, **SHORT)
        assert METHOD.work(one) == (passes, 35)
        assert solve(prior, operator, y[:1], one, seeds=[0]).prior_calls.tolist() == [passes]


def test_progress_is_told(prior, operator, y):
    calls = []
    one(prior, operator, y, 0, on_step=lambda done, total: calls.append((done, total)))
    assert calls == [(i, 5) for i in range(1, 6)]


def untouchable(prior):
    """The prior, whose networks must not run before bad input is refused."""
    guarded = copy.copy(prior)
    for name in ("log_probs", "decode"):
        setattr(guarded, name, lambda *_, **__: pytest.fail("heavy work before validation"))
    return guarded


def test_bad_input_is_refused_before_any_network_runs(prior, operator, y):
    guarded = untouchable(prior)
    hurt = y.clone()
    hurt[1, 0, 0, 0] = float("nan")
    small = build_operator("identity", {}, x_shape=(3, 4, 4))
    mixed = [ROWS[0], *(row.model_copy(update={"steps": 4}) for row in ROWS[1:])]
    steps = [row.model_copy(update={"steps": 11}) for row in ROWS]
    cases = [
        (operator, hurt, ROWS, PROMPTS, SEEDS, "nan"),
        (operator, y[:, :, :2], ROWS, PROMPTS, SEEDS, "shape"),
        (small, y, ROWS, PROMPTS, SEEDS, r"operator: made for image \(3, 4, 4\)"),
        (operator, y, ROWS[:2], PROMPTS, SEEDS, "settings: 2 given for 6"),
        (operator, y, ROWS, PROMPTS[:1], SEEDS, "prompts: 1 given for 6"),
        (operator, y, ROWS, PROMPTS, SEEDS[:1], "seeds: 1 given for 6"),
        (operator, y, mixed, PROMPTS, SEEDS, "steps: rows of one batch must agree, but have 4, 5"),
        (operator, y, steps, PROMPTS, SEEDS, "steps: 11 is not between 1 and the prior's 10"),
        (operator, y, ROWS, ["x" * 40, *PROMPTS[1:]], SEEDS, "prompt: .* has 42 tokens; .* allows 16"),
    ]
    for op, measured, rows, prompts, seeds, message in cases:
        with pytest.raises(InputError, match=f"(?i){message}"):
            solve(guarded, op, measured, rows, prompts=prompts, seeds=seeds)
    with pytest.raises(InputError, match="'g2d2' needs a prior of kind discrete, not NoneType"):
        solve(None, operator, y, ROWS, prompts=PROMPTS, seeds=SEEDS)


@pytest.mark.parametrize("threads", [1, 2])
def test_in_float32_a_row_of_the_embedded_prior_is_the_same_in_any_batch(threads):
    """Rounding is amplified by the optimisation, so a single different bit in the decoder would show in the tokens."""
    prior, task = load_prior("cifar10"), TASKS["sr4-32"]
    operator, count = task.build(), 18
    truth = torch.rand(count, *prior.x_shape, generator=torch.Generator().manual_seed(0)) * 2 - 1
    y = measure(operator, truth, sigma=task.sigma, seeds=range(count))
    rows = [
        settings(process=process, learning_rate=60.0, guidance=guidance, steps=2, iterations=12)
        for process in ("star", "markov")
        for guidance in (0.0, 1.0, 3.0)
    ] * 3

    def restore(which):
        chosen = [rows[i] for i in which]
        return solve(prior, operator, y[which], chosen, prompts="a photo of a frog", seeds=which)

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        together = restore(list(range(count)))
        for which in ([4], [17, 0, 5], list(range(9))):
            some = restore(which)
            assert torch.equal(some.latent, together.latent[which])
            assert torch.equal(some.x, together.x[which])
    finally:
        torch.set_num_threads(before)


def test_without_moves_markov_never_revises_a_token_and_with_them_it_ends_on_alpha():
    """The paper says unmasked tokens stay; the schedule's rare moves undo that, which decides star against Markov."""
    prior = random_prior()
    schedule = prior.schedule.with_beta("K+1")
    log_alpha = torch.full((1, 8, 16), -12.0)
    log_alpha[:, 3] = 0.0
    log_alpha = log_alpha.log_softmax(dim=1)
    z_t = torch.full((1, 16), 5)
    still = log_markov_marginal(log_alpha, z_t, schedule.without_moves(), 0, 4).exp()
    moved = log_markov_marginal(log_alpha, z_t, schedule, 0, 4).exp()
    assert torch.equal(still.argmax(dim=1), z_t)
    assert still[0, 5].min() == 1
    assert torch.allclose(moved[:, :-1], log_alpha.exp(), atol=1e-6)
