"""What holds for every method on a Gaussian diffusion: rows of their own, no host reads, operators, refusals, costs."""

import pytest
import torch

from g2d2.methods import METHODS, find_method
from g2d2.methods.base import Batch
from g2d2.methods.diffusion import DiffusionMethod
from g2d2.methods.recording import Recorder
from g2d2.priors.base import Diffusion, Discrete, Latent, PriorFacts
from operators import InputError, stack_operators
from tests.g2d2.methods.cases import (
    EITHER,
    NOT_FOR,
    OF_LATENTS,
    OPERATORS,
    SHAPE,
    SHORT,
    measurements,
    operator_of,
    prior_for,
    settings_for,
)
from tests.g2d2.methods.exact_law import make_batch
from tests.g2d2.methods.gaussian_prior import GaussianLatents, covariance_of

ROWS = 5
PAIRS = [(method, operator) for method in SHORT for operator in OPERATORS]
FREE = {
    "daps": {"tau": 0.02, "learning_rate": 2e-5, "momentum": 0.5},
    "ddrm": {"eta": 0.3, "eta_b": 0.7},
    "diffpir": {"prior_weight": 3.0, "noise_share": 0.9},
    "dps": {"zeta": 0.2},
    "pigdm": {"guidance_weight": 0.3, "ddim_eta": 0.2},
    "psld": {"omega": 0.4, "gluing": 0.6, "ddim_eta": 0.5},
    "resample": {"zeta": 0.1, "resample_weight": 3.0, "pixel_rate": 0.1, "weight_decay": 0.1},
}


def test_every_method_on_a_diffusion_is_here():
    registered = [name for name in METHODS.names() if isinstance(find_method(name), DiffusionMethod)]
    assert sorted(registered) == sorted(SHORT)


def solve(method, operator, y, settings, seeds, sigma=0.05, **options):
    prior = prior_for(method, **options)
    return find_method(method).run(prior, operator, y, settings, seeds=seeds, sigma=sigma)


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_operators_work_wherever_the_mathematics_allows(method, name):
    operator, chosen = operator_of(name), find_method(method)
    y, prior = measurements(operator, 2), prior_for(method)
    if (method, name) in NOT_FOR:
        with pytest.raises(
            InputError, match=r"^operator: method 'ddrm' needs one that is spectral, and motion_blur is not\.$"
        ):
            chosen.check(prior.facts, operator, settings_for(method))
        return
    chosen.check(prior.facts, operator, settings_for(method))
    solution = solve(method, operator, y, settings_for(method), range(2))
    assert solution.x.shape == (2, *SHAPE)
    assert solution.fault(0) is None
    assert solution.curves["residual"].shape == (2, len(solution.levels))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("method", "name"), [pair for pair in PAIRS if pair not in NOT_FOR])
def test_a_row_has_the_same_bits_alone_and_in_any_batch(method, name, dtype):
    operator = operator_of(name)
    y, seeds = measurements(operator, ROWS), [11, 12, 13, 2**50, 15]
    rows = [settings_for(method, **(FREE[method] if row % 2 else {})) for row in range(ROWS)]
    sigmas = [0.05, 0.0, 0.2, 0.01, 0.05]
    options = {"dtype": dtype}
    together = solve(method, operator, y, rows, seeds, sigmas, **options)
    order = [3, 0, 4, 1]
    some = solve(
        method,
        operator,
        y[order],
        [rows[i] for i in order],
        [seeds[i] for i in order],
        [sigmas[i] for i in order],
        **options,
    )
    assert torch.equal(some.x, together.x[order])
    for row in (1, 2):
        here = slice(row, row + 1)
        alone = solve(method, operator, y[here], rows[here], seeds[here], sigmas[here], **options)
        assert torch.equal(alone.x[0], together.x[row])


@pytest.mark.parametrize("method", SHORT)
def test_rows_may_have_operators_of_their_own(method):
    single = [operator_of("random_inpainting"), operator_of("random_inpainting")]
    y = torch.cat([measurements(operator, 1) for operator in single])
    together = solve(method, stack_operators(single), y, settings_for(method), [1, 2])
    alone = solve(method, single[1], y[1:], settings_for(method), [2])
    torch.testing.assert_close(alone.x[0], together.x[1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("method", SHORT)
def test_gradients_of_a_few_rows_at_a_time_are_the_same(method):
    operator = operator_of("super_resolution")
    y = measurements(operator, ROWS)
    whole, parts = (
        solve(method, operator, y, settings_for(method), range(ROWS), decode_rows=size) for size in (None, 2)
    )
    torch.testing.assert_close(parts.x, whole.x, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", SHORT)
def test_every_free_setting_changes_its_own_row_alone(method):
    operator = operator_of("gaussian_blur")
    y = measurements(operator, 3)
    plain = [settings_for(method)] * 3
    before = solve(method, operator, y, plain, range(3), sigma=0.02)
    for field, value in FREE[method].items():
        changed = [plain[0], settings_for(method, **{field: value}), plain[2]]
        after = solve(method, operator, y, changed, range(3), sigma=0.02)
        assert torch.equal(after.x[[0, 2]], before.x[[0, 2]]), field
        assert not torch.equal(after.x[1], before.x[1]), field


@pytest.mark.parametrize("method", SHORT)
def test_continuous_settings_are_free_but_those_that_decide_the_levels(method):
    chosen = find_method(method).Settings
    shared = {name for name in chosen.shared_fields() if chosen.model_fields[name].annotation is float}
    assert shared == ({"sigma_max", "sigma_min", "ode_sigma_min"} if method == "daps" else set())


@pytest.mark.parametrize(("method", "name"), [pair for pair in PAIRS if pair not in NOT_FOR])
def test_no_value_is_read_on_the_host(method, name):
    """On torch's meta device tensors have no values, and reading one raises."""
    operator = operator_of(name)
    y = measurements(operator, 3, dtype=torch.float32)
    prior = prior_for(method, device="meta", dtype=torch.float32)
    batch = make_batch(operator, y, settings_for(method), dtype=torch.float32, device="meta")
    x = find_method(method).restore(prior, batch, Recorder(torch.device("meta"), snapshot_steps=(1, 2)))
    assert x.shape == (3, *SHAPE)
    assert x.device.type == "meta"


@pytest.mark.parametrize("method", SHORT)
def test_recording_changes_nothing_and_draws_nothing(method):
    operator = operator_of("super_resolution")
    y, settings, prior = measurements(operator, 2), settings_for(method), prior_for(method)
    torch.manual_seed(0)
    state = torch.get_rng_state()
    plain = find_method(method).run(prior, operator, y, settings, seeds=[1, 2], sigma=0.05)
    told = []
    watched = find_method(method).run(
        prior, operator, y, settings, seeds=[1, 2], sigma=0.05, snapshots_at=(1, 2), on_step=lambda *at: told.append(at)
    )
    assert torch.equal(plain.x, watched.x)
    assert torch.equal(torch.get_rng_state(), state)
    assert sorted(watched.snapshots) == [1, 2]
    assert watched.snapshots[1].shape == (2, *SHAPE)
    count = len(watched.levels)
    assert told == [(index + 1, count) for index in range(count)]


@pytest.mark.parametrize("method", SHORT)
def test_network_calls_and_decodings_are_counted(method):
    operator = operator_of("super_resolution")
    prior = prior_for(method)
    solution = find_method(method).run(
        prior, operator, measurements(operator, 2), settings_for(method), seeds=[1, 2], sigma=0.05
    )
    assert solution.prior_calls.tolist() == [len(prior.calls)] * 2
    assert (solution.decoder_calls is not None) == (method in OF_LATENTS)
    assert (solution.latent is not None) == (method in OF_LATENTS)


@pytest.mark.parametrize("method", SHORT)
def test_short_trials_span_the_units_of_work(method):
    """A plan's cost is a weighted sum of a method's units, fitted to short trials: these must tell them apart."""
    chosen = find_method(method)
    for preset in chosen.presets:
        settings = chosen.settings(preset)
        work = torch.tensor([chosen.work(trial) for trial in chosen.trials(settings)], dtype=torch.float64)
        assert work.shape == (len(chosen.work(settings)),) * 2
        assert torch.linalg.matrix_rank(work) == len(work)
        assert (work.sum(1) < 120).all()
        assert all(trial.steps <= 3 for trial in chosen.trials(settings))


def test_work_counts_the_calls_that_are_made():
    operator = operator_of("super_resolution")
    for method in SHORT:
        prior, settings = prior_for(method, train_steps=1000), settings_for(method)
        find_method(method).run(prior, operator, measurements(operator, 1), settings, seeds=[0])
        work = find_method(method).work(settings)
        expected = work[0] + (work[1] if method == "resample" else 0)
        assert len(prior.calls) == expected, method


@pytest.mark.parametrize("method", SHORT)
def test_guidance_doubles_the_work_of_the_network_and_no_other(method):
    chosen = find_method(method)
    plain, guided = (chosen.work(settings_for(method, guidance=scale)) for scale in (1.0, 5.0))
    passes = 2 if method == "resample" else 1
    assert guided == (*(2 * calls for calls in plain[:passes]), *plain[passes:])


@pytest.mark.parametrize("method", SHORT)
def test_the_first_preset_is_the_papers_and_all_are_valid(method):
    chosen = find_method(method)
    assert next(iter(chosen.presets)) == "paper"
    for preset in chosen.presets:
        chosen.settings(preset)
        for experiment in chosen.experiments.get(preset, {}):
            chosen.settings(preset, experiment)


@pytest.mark.parametrize("method", SHORT)
def test_a_prior_of_the_wrong_kind_is_refused(method):
    chosen, operator = find_method(method), operator_of("identity")
    needed = "latent" if method in OF_LATENTS else "diffusion"
    facts = PriorFacts(Discrete, "image", SHAPE)
    sentence = rf"^prior: method '{method}' needs a prior of kind {needed}, and this one is discrete\.$"
    with pytest.raises(InputError, match=sentence):
        chosen.check(facts, operator, settings_for(method))
    with pytest.raises(InputError, match=f"needs a prior of kind {needed}; name one"):
        chosen.check(None, operator, settings_for(method))
    with pytest.raises(InputError, match=r"^steps: 40 is more than the prior's 20 training steps; use 1 to 20\.$"):
        chosen.check(prior_for(method).facts, operator, settings_for(method, steps=40))
    if method in OF_LATENTS:
        with pytest.raises(InputError, match="needs a prior of kind latent, and this one is diffusion"):
            chosen.check(PriorFacts(Diffusion, "image", SHAPE), operator, settings_for(method))


@pytest.mark.parametrize("method", [name for name in SHORT if name not in (*OF_LATENTS, *EITHER)])
def test_methods_that_need_a_on_what_diffuses_refuse_latents(method):
    chosen, operator = find_method(method), operator_of("identity")
    sentence = (
        rf"^prior: method '{method}' needs a diffusion of x itself, and this one is of latents; "
        r"use psld or resample with it\.$"
    )
    with pytest.raises(InputError, match=sentence):
        chosen.check(PriorFacts(Latent, "image", SHAPE), operator, settings_for(method))
    with pytest.raises(InputError, match=sentence):
        chosen.run(prior_for("psld"), operator, measurements(operator, 1), settings_for(method), seeds=[0])


@pytest.mark.parametrize("method", EITHER)
def test_methods_that_follow_gradients_take_latents_too(method):
    """With an identity autoencoder the result is that of the same prior of pixels."""
    operator = operator_of("super_resolution")
    covariance = covariance_of(SHAPE[0] * SHAPE[1] * SHAPE[2])
    latents = GaussianLatents(SHAPE, covariance=covariance, train_steps=20)
    pixels = prior_for(method)
    settings = settings_for(method, **({"clip": "none"} if method == "dps" else {}))
    x = [
        find_method(method).run(prior, operator, measurements(operator, 2), settings, seeds=[1, 2]).x
        for prior in (latents, pixels)
    ]
    torch.testing.assert_close(x[0], x[1], rtol=1e-10, atol=1e-10)


def test_a_prompt_is_checked_only_where_it_has_weight():
    facts = PriorFacts(Diffusion, "image", SHAPE, 20, prompt_tokens=3, count_tokens=lambda texts: [9] * len(texts))
    chosen, operator = find_method("dps"), operator_of("identity")
    chosen.check(facts, operator, settings_for("dps"), "a photo of a frog")
    with pytest.raises(InputError, match="prompt: 'a photo of a frog' has 9 tokens"):
        chosen.check(facts, operator, settings_for("dps", guidance=1.0), "a photo of a frog")


def test_a_measurement_with_nan_is_refused():
    operator = operator_of("identity")
    y = measurements(operator, 2)
    y[1, 0, 0, 0] = torch.nan
    with pytest.raises(InputError, match="y has 1 NaN or infinite values in row 1"):
        find_method("dps").run(prior_for("dps"), operator, y, settings_for("dps"), seeds=[0, 1])


def test_a_norm_is_of_one_image_never_of_the_batch():
    """The best-known bug of this family: one norm over a batch divides every image's guidance by its neighbours'."""
    operator = operator_of("identity")
    y = torch.cat([measurements(operator, 1), 50 * measurements(operator, 1)])
    together = solve("dps", operator, y, settings_for("dps", steps=1), [1, 2])
    alone = solve("dps", operator, y[:1], settings_for("dps", steps=1), [1])
    assert torch.equal(together.x[0], alone.x[0])


def test_a_batch_is_what_the_methods_themselves_make():
    """The batches that these tests build by hand are those of `Method.batch`."""
    operator, chosen = operator_of("identity"), find_method("dps")
    y = measurements(operator, 2)
    own = chosen.batch(prior_for("dps"), operator, y, settings_for("dps"), prompts="", seeds=[0, 1], sigma=0.05)
    ours = make_batch(operator, y, settings_for("dps"), 0.05)
    assert isinstance(own, Batch)
    assert torch.equal(own.y, ours.y)
    assert torch.equal(own.sigma, ours.sigma)
    assert (own.settings, own.prompts, own.seeds) == (ours.settings, ours.prompts, ours.seeds)
