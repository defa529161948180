"""Every method restores without reading a value on the host and without a tensor that lies on another device.

Torch's `meta` device has shapes and no values: what would make a GPU wait for the host (`.item()`, `if tensor:`,
`.cpu()`, `nonzero`) raises there, and so does mixing in a tensor that was made on the CPU.
"""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from g2d2.methods import METHODS, Batch, Method, Recorder, find_method
from g2d2.methods.bicubic import Bicubic
from g2d2.methods.g2d2 import G2D2
from g2d2.methods.g2d2_settings import G2D2Settings
from g2d2.priors.base import Diffusion, Discrete, Latent
from g2d2.priors.families import FAMILIES, find_family
from g2d2.priors.gaussian_noise import GaussianNoise
from g2d2.priors.latent_diffusion.latent_components import LatentParts
from g2d2.priors.latent_diffusion.latent_prior import LatentDiffusionPrior
from g2d2.priors.masked_image.random_masked import random_masked_prior
from g2d2.priors.masked_motion.random_motion import random_motion_prior
from g2d2.priors.random_unets import random_unet
from g2d2.priors.unet_conditions import Nothing
from g2d2.priors.unet_prior import UNetPrior
from g2d2.priors.vq_diffusion.prior import VQDiffusionPrior
from g2d2.priors.vq_diffusion.random_weights import TINY, random_components
from operators import Operator, build_operator, stack_operators

META = torch.device("meta")
SHAPE = (3, 8, 8)
ROWS = 3
NOISE = GaussianNoise(torch.linspace(0.99, 0.01, 20, dtype=torch.float64), variance="learned_range")


def tiny_latents():
    autoencoder = random_components(TINY).vqvae
    side, channels = (
        SHAPE[1] // 2 ** (len(autoencoder.config.block_out_channels) - 1),
        autoencoder.config.latent_channels,
    )
    parts = LatentParts(autoencoder, random_unet(channels, side, learned=True), NOISE, Nothing(), 0.5)
    return LatentDiffusionPrior(parts, device=META)


PRIORS = {
    Discrete: lambda: VQDiffusionPrior(random_components(TINY), device=META),
    Diffusion: lambda: UNetPrior(random_unet(learned=True), NOISE, device=META),
    Latent: tiny_latents,
}
"""A tiny prior of every kind that a method may need."""
FEW = {"steps": 4, "iterations": 3, "resample_every": 1, "pixel_iterations": 2, "latent_iterations": 2}
"""What makes a method short, where it has such a setting."""


def tiny_prior(kind):
    for known, make in PRIORS.items():
        if issubclass(known, kind):
            return make()
    return pytest.fail(f"PRIORS has no tiny prior of kind {kind.__name__}: add one, so that its methods are tried")


def restore(method, operator=None, settings=None, prior=None):
    """What `restore` gives on the meta device, with everything that `run` would bring there."""
    if method.prior is not None and prior is None:
        prior = tiny_prior(method.prior)
    operator = operator or build_operator("super_resolution", {"factor": 2}, x_shape=SHAPE)
    few = {name: value for name, value in FEW.items() if name in method.Settings.model_fields}
    settings = settings or [method.settings(**few)] * ROWS
    rows = len(settings)
    batch = Batch(
        operator=deepcopy(operator).to(META, torch.float32),
        y=torch.empty(rows, *operator.y_shape, device=META),
        sigma=torch.empty(rows, device=META),
        settings=settings,
        prompts=["ab"[row % 2] for row in range(rows)],
        seeds=list(range(rows)),
    )
    snapshots = range(1, 1 + getattr(settings[0], "steps", 0))
    return method.restore(prior, batch, Recorder(META, snapshots))


def spectral(name, *params):
    return [build_operator(name, param, x_shape=SHAPE) for param in params]


OPERATORS = {
    "shared": spectral("super_resolution", {"factor": 2}),
    "of each row": spectral("gaussian_blur", *({"kernel_size": 3, "std": std} for std in (0.5, 1.0, 2.0))),
    "masks": spectral("random_inpainting", *({"keep": 0.5, "seed": seed} for seed in range(ROWS))),
    "identity": spectral("identity", {}),
}


@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("name", METHODS.names())
def test_a_method_never_waits_for_the_device(name, kind):
    x = restore(find_method(name), stack_operators(OPERATORS[kind]))
    assert x.device.type == "meta"
    assert x.shape == (ROWS, *SHAPE)


G2D2_FEW = {"steps": 3, "iterations": 3}
G2D2_OPTIONS = {
    "both processes and guidances": [{"process": "star"}, {"process": "markov", "guidance": 0.0}, {"guidance": 1.0}],
    "exact counts": [
        {"remasking": "exact-count", "top_p": 0.9, "prior_top_p": 0.9, "truncation": "rounded", "spacing": "one-level"}
    ]
    * ROWS,
    "confidence": [{"remasking": "posterior-confidence", "final": "argmax"}] * ROWS,
    "other relaxations": [{"relaxation": "gumbel-st", "final": "expectation", "optimizer": "adam"}] * ROWS,
    "means": [{"relaxation": "quantized-expectation", "code_moves": "none", "optimizer_memory": "run"}] * ROWS,
    "late steps": [
        {"discrepancy": 1.0, "lambda_iterations": 1.0, "gumbel_share": 0.5, "samples": 2, "final": "expectation"}
        | {"final_steps": 2, "optimizer_memory": "run", "memory_kept": 0.5}
        | {"remasking": "posterior-confidence", "remasking_temperature": 1.0}
    ]
    * ROWS,
    "squares": [{"likelihood": "squared", "weight_schedule": "endpoints", "kl_gradient": "raw-logits"}] * ROWS,
}


@pytest.mark.parametrize("field", [name for name in G2D2Settings.model_fields if name not in G2D2_FEW])
def test_every_option_of_g2d2_is_among_them(field):
    """A setting that chooses between ways is tried in more than its default; numbers change no way."""
    default = getattr(G2D2Settings(), field)
    if isinstance(default, str) and field != "beta_denominator":  # a number in the schedule, on the host
        assert any(changes.get(field, default) != default for rows in G2D2_OPTIONS.values() for changes in rows)


class FromNumbers(TorchFunctionMode):
    """Counts tensors of the device that are made of numbers, which no dispatch mode sees, and lists of places."""

    def __init__(self):
        super().__init__()
        self.uploads = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func in (torch.tensor, torch.as_tensor, torch.asarray):
            self.uploads += result.device == META and not isinstance(args[0], torch.Tensor)
        elif func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__) and args[0].device == META:
            places = args[1] if isinstance(args[1], tuple) else (args[1],)
            self.uploads += any(isinstance(place, list) for place in places)
        return result


class Counted(TorchDispatchMode):
    """Counts what a device is given to do, views apart, and what is brought to it from the host."""

    def __init__(self):
        super().__init__()
        self.kernels = self.copies = 0
        self.numbers = FromNumbers()

    @property
    def uploads(self):
        return self.copies + self.numbers.uploads

    def __enter__(self):
        self.numbers.__enter__()
        return super().__enter__()

    def __exit__(self, *reason):
        super().__exit__(*reason)
        self.numbers.__exit__(*reason)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.kernels += not func.is_view
        if isinstance(result, torch.Tensor) and result.device == META:
            given = tree_leaves((args, kwargs))
            self.copies += any(isinstance(value, torch.Tensor) and value.device.type == "cpu" for value in given)
        return result


TAKES = torch.tensor([0, 2])
UPLOADS = {
    "a copy": (lambda x: x + TAKES.to(META).sum(), 1),
    "numbers": (lambda x: x[:2] * torch.tensor([1.0, 2.0], device=META), 1),
    "numbers as a tensor": (lambda x: x[:2] * torch.as_tensor([1.0, 2.0], device=META), 1),
    "a tensor as a tensor": (lambda x: x[:2] * torch.as_tensor(TAKES, device=META), 1),
    "a list of places": (lambda x: x[[0, 2]], 1),
    "places on the host": (lambda x: x[TAKES], 1),
    "a number written in place": (lambda x: x.index_put((TAKES,), x[:2]), 1),
    "nothing": (lambda x: (x * 2.0 + torch.ones(3, device=META))[:2].clone(), 0),
}


@pytest.mark.parametrize("how", UPLOADS)
def test_whatever_is_brought_to_the_device_is_counted(how):
    """Each of these makes a GPU wait for the host, and none of them raises on the meta device."""
    act, uploads = UPLOADS[how]
    x = torch.empty(3, device=META)
    with Counted() as counted:
        act(x)
    assert counted.uploads == uploads


def picture_operator():
    return deepcopy(build_operator("super_resolution", {"factor": 2}, x_shape=SHAPE))


DISCRETE = {
    "vq_diffusion": (lambda: tiny_prior(Discrete), picture_operator),
    "masked_image": (lambda: random_masked_prior(device=META), picture_operator),
    "masked_motion": (
        lambda: random_motion_prior(device=META),
        lambda: build_operator("path", {}, x_shape=random_motion_prior().x_shape),
    ),
}
"""Every family of discrete priors, and an operator on what it makes."""


def counts(changes, steps, iterations, family="vq_diffusion", own=None):
    """`own`: how many iterations more each row has."""
    method, (prior, operator) = G2D2(), (make() for make in DISCRETE[family])
    settings = [
        method.settings(**{**one, "steps": steps, "iterations": iterations + (own[row] if own else 0)})
        for row, one in enumerate(changes)
    ]
    with Counted() as counted:
        x = restore(method, operator, settings, prior)
    assert x.device == META
    assert x.shape == (len(settings), *prior.x_shape)
    return counted


@pytest.mark.parametrize("family", DISCRETE)
@pytest.mark.parametrize("options", G2D2_OPTIONS)
def test_longer_runs_of_g2d2_with_any_of_its_options_bring_nothing_more_to_the_device(options, family):
    """Keys, levels and weights are there before the first step: a copy in between would wait for all that is queued."""
    few, many = (counts(G2D2_OPTIONS[options], *size, family) for size in ((2, 1), (3, 3)))
    assert few.uploads == many.uploads <= 40


@pytest.mark.parametrize("family", DISCRETE)
def test_nor_do_rows_with_iterations_of_their_own_where_some_leave(family):
    few, many = (counts(G2D2_OPTIONS["late steps"], *size, family, own=(0, 1, 2)) for size in ((2, 1), (3, 2)))
    assert few.uploads == many.uploads <= 42


def test_every_family_of_discrete_priors_is_among_them():
    assert {name for name in FAMILIES.homes if issubclass(find_family(name).kind, Discrete)} == set(DISCRETE)


KERNELS = {
    "default": ({}, 230),  # 229 were counted
    "adam, kept for the run": ({"optimizer": "adam", "optimizer_memory": "run"}, 245),  # 243
    "discrepancy": ({"discrepancy": 1.0}, 240),  # 238
    "both": ({"discrepancy": 1.0, "optimizer": "adam", "optimizer_memory": "run"}, 255),  # 252
    "radam in both": ({"discrepancy": 1.0, "optimizer_memory": "run"}, 270),  # 266
}
"""The most of an iteration on the tiny prior, most of them its decoder's and their gradients."""


@pytest.mark.parametrize("loop", KERNELS)
def test_an_iteration_gives_a_device_as_few_kernels_for_many_rows_as_for_one(loop):
    changes, most = KERNELS[loop]

    def of_an_iteration(rows):
        few, many = (counts([changes] * rows, 1, iterations).kernels for iterations in (2, 3))
        return many - few

    assert of_an_iteration(1) == of_an_iteration(16) <= most


class Ragged(VQDiffusionPrior):
    """Rows of which only some tokens count, as those of a shorter signal."""

    def condition(self, prompts, guidance, x_shapes=None):
        active = torch.empty(len(prompts), self.num_tokens, dtype=torch.bool, device=self.device)
        return replace(super().condition(prompts, guidance, x_shapes), active=active)


@pytest.mark.parametrize("remasking", ["independent", "exact-count", "posterior-confidence"])
def test_nor_with_rows_of_different_lengths(remasking):
    method = G2D2()
    rows = [method.settings(**G2D2_FEW, remasking=remasking, process=process) for process in ("star", "markov", "star")]
    restore(method, settings=rows, prior=Ragged(random_components(TINY), device=META))


class ReadsAValue(Bicubic):
    """Its loop asks the device for a number."""

    def restore(self, prior, batch, record):
        x = super().restore(prior, batch, record)
        for _ in range(2):
            x = x / x.abs().amax().item()
        return x


class Branches(Bicubic):
    """What it does next depends on a value."""

    def restore(self, prior, batch, record):
        x = super().restore(prior, batch, record)
        return x if (x > 0).all() else -x


class MixesDevices(Bicubic):
    """It makes a tensor where nobody said to."""

    def restore(self, prior, batch, record):
        return super().restore(prior, batch, record) + torch.zeros(len(batch), 1, 1, 1)


class BringsHome(Bicubic):
    """It copies to the host."""

    def restore(self, prior, batch, record):
        return super().restore(prior, batch, record).cpu()


@pytest.mark.parametrize("method", [ReadsAValue, Branches, MixesDevices, BringsHome])
def test_a_method_that_does_is_caught(method: type[Method]):
    restore(Bicubic())
    with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
        restore(method())


class PeeksAtResiduals(Operator):
    """An operator of the user's own may wait for the device too."""

    def _apply_forward(self, x):
        return x * float(x.detach().mean())


def test_operators_are_part_of_it():
    with pytest.raises(RuntimeError, match="meta"):
        restore(G2D2(), PeeksAtResiduals(Operator.settings_model(), SHAPE))
