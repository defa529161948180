"""Networks changed for speed answer as the plain ones do, or are refused."""

from contextlib import nullcontext
from functools import partial

import pytest
import torch

from g2d2.methods.g2d2 import G2D2
from g2d2.priors import TINY, load_prior, random_prior
from g2d2.priors.compiling import Compiled
from g2d2.priors.gaussian_noise import GaussianNoise
from g2d2.priors.masked_image.random_masked import random_masked_prior
from g2d2.priors.masked_motion.random_motion import random_motion_prior
from g2d2.priors.probe import ask
from g2d2.priors.random_unets import random_unet
from g2d2.priors.unet_prior import UNetPrior
from g2d2.priors.vq_diffusion.prior import VQDiffusionPrior
from g2d2.priors.vq_diffusion.random_weights import random_components
from operators import InputError, build_operator


def compiler(monkeypatch, result):
    """Let `torch.compile` make a function's result into something else."""
    monkeypatch.setattr(torch, "compile", lambda plain, **_: lambda *inputs: result(plain(*inputs), *inputs))


def without_gradient(output, *inputs):
    return output.detach() + 0 * inputs[0].sum()


def refused(**options):
    with pytest.raises(InputError) as error:
        random_prior(**options)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_compiled_decoder_without_gradient_is_refused_when_it_is_loaded(monkeypatch):
    compiler(monkeypatch, without_gradient)
    assert refused(compile_networks=True).startswith("compile: the decoder's gradient is off by 1 of its size")


def test_a_compiled_network_of_other_values_is_refused(monkeypatch):
    compiler(monkeypatch, lambda output, *_: output * 1.1)
    assert refused(compile_networks=True).startswith("compile: the transformer's value is off by 0.1 of its size")


def test_what_cannot_be_compiled_is_one_sentence(monkeypatch):
    def fail(*_):
        raise RuntimeError("no compiler\nis here")

    compiler(monkeypatch, fail)
    assert refused(compile_networks=True).startswith(
        "compile: torch cannot compile the transformer on this machine (no"
    )


def test_every_batch_size_is_tried_before_it_is_used(monkeypatch):
    """Each is compiled anew, so that one may lie where another does not."""
    compiler(monkeypatch, lambda output, *inputs: without_gradient(output, *inputs) if len(output) == 3 else output)
    prior = random_prior(compile_networks=True, rows=5)
    for rows in (5, 4):
        prior.decode(torch.zeros(rows, 4, 16, requires_grad=True))
    with pytest.raises(InputError, match="the decoder's gradient"):
        prior.decode(torch.zeros(3, 4, 16, requires_grad=True))


class Layer:
    """A network as priors have them: a method that all objects of a class share."""

    def __init__(self, width):
        self.layer = torch.nn.Linear(width, width).requires_grad_(False)

    def run(self, x):
        return self.layer(x)


def traced(monkeypatch):
    """Let torch trace what is compiled and run it as it is; a list of the rows that its graphs were given."""
    compile, runs = torch.compile, []

    def backend(graph, _):
        return lambda *inputs: (runs.append(len(inputs[0])), graph.forward(*inputs))[1]

    monkeypatch.setattr(torch, "compile", lambda plain, options, **how: compile(plain, backend=backend, **how))
    torch.compiler.reset()
    return runs


def test_a_network_is_compiled_for_every_shape_and_so_is_that_of_another_prior(monkeypatch):
    """By itself torch takes eight of a class, and runs what comes then uncompiled."""
    runs = traced(monkeypatch)
    for width in (4, 6):
        compiled = Compiled("the decoder", Layer(width).run, torch.float32)
        for rows in range(1, 11):
            before = len(runs)
            compiled(torch.zeros(rows, width))
            assert len(runs) > before + 1  # tried, and used


def test_a_shape_too_many_is_refused_where_torch_would_not_compile_it(monkeypatch):
    runs = traced(monkeypatch)
    monkeypatch.setattr("g2d2.priors.compiling.MOST_SHAPES", 3)
    compiled = Compiled("the decoder", Layer(4).run, torch.float32)
    for rows in (1, 2, 3):
        compiled(torch.zeros(rows, 4))
    with pytest.raises(InputError, match="compiles the decoder for no further shape in this process, as it has for 3;"):
        compiled(torch.zeros(4, 4))
    runs.clear()
    compiled(torch.zeros(3, 4))
    assert len(runs) == 1  # what was compiled is of use still


class ReplayedDouble(torch.autograd.Function):
    """As a CUDA graph answers: value and gradient are the same memory in every call."""

    memory = torch.zeros(2, 3), torch.zeros(2, 3)

    @staticmethod
    def forward(context, x):
        return ReplayedDouble.memory[0].copy_(2 * x).detach()

    @staticmethod
    def backward(context, gradient):
        return ReplayedDouble.memory[1].copy_(2 * gradient)


def test_what_a_graph_gives_outlives_its_next_replay(monkeypatch):
    asked = []
    monkeypatch.setattr(torch, "compile", lambda plain, options, **_: asked.append(options) or ReplayedDouble.apply)
    compiled = Compiled("the decoder", lambda x: 2 * x, torch.float32, graphs=True)
    assert asked[0]["triton.cudagraphs"]
    kept = []
    for factor in (1.0, 5.0):
        x = torch.full((2, 3), factor, requires_grad=True)
        output = compiled(x)
        kept.append((output.detach(), torch.autograd.grad((output * factor).sum(), x)[0]))
    for factor, (value, gradient) in zip((1.0, 5.0), kept, strict=True):
        assert value.eq(2 * factor).all()
        assert gradient.eq(2 * factor).all()


@pytest.mark.parametrize(("wrong", "refuses"), [((1, 2), False), ((3,), True)])
def test_the_last_of_three_calls_is_compared(monkeypatch, wrong, refuses):
    """The first two of a CUDA graph warm it up and record it; what is replayed from then on may lie all the same."""
    calls = []

    def counted(plain, **_):
        return lambda x: calls.append(1) or plain(x) * (1 + (len(calls) in wrong))

    monkeypatch.setattr(torch, "compile", counted)
    compiled, x = Compiled("the decoder", torch.cos, torch.float32, graphs=True), torch.ones(2, 3)
    with pytest.raises(InputError, match="the decoder's value is off by 1 of its size") if refuses else nullcontext():
        assert compiled(x).equal(torch.cos(x))
    assert len(calls) == 3 + (not refuses)


@pytest.mark.parametrize(
    "load",
    [
        partial(load_prior, "nowhere"),
        random_prior,
        random_masked_prior,
        random_motion_prior,
        partial(UNetPrior, random_unet(), GaussianNoise(torch.linspace(0.99, 0.01, 20, dtype=torch.float64))),
    ],
)
def test_graphs_are_refused_where_there_is_no_gpu(load):
    with pytest.raises(InputError, match=r"^compile: graphs needs a GPU; allowed here: true, false\.$"):
        load(compile_networks="graphs")


def test_any_mixture_of_guidance_has_the_shapes_that_were_tried_before_the_work(monkeypatch):
    """A row at 0 or 1 takes one pass of the transformer, another takes two."""
    compiler(monkeypatch, lambda output, *_: output)
    prior, plain, method, rows = random_prior(compile_networks=True, rows=4), random_prior(), G2D2(), 4
    operator = build_operator("identity", {}, x_shape=prior.x_shape)
    y = torch.zeros(rows, *prior.x_shape)
    ask(prior, rows, guidance=2.0)
    tried = set(prior._denoise.tried), set(prior._decode.tried)
    assert sorted(kind[0][0][0] for kind in tried[0]) == [rows, 2 * rows]
    for scales in ([1.0, 5.0, 1.0, 1.0], [5.0, 5.0, 0.0, 1.0], [3.0] * 4, [1.0, 0.0, 1.0, 1.0]):
        settings = [method.settings(steps=2, iterations=1 + row, guidance=scale) for row, scale in enumerate(scales)]
        mixed = method.run(prior, operator, y, settings, prompts="a", seeds=range(rows))
        assert (prior._denoise.tried, prior._decode.tried) == tried
        expected = method.run(plain, operator, y, settings, prompts="a", seeds=range(rows))
        torch.testing.assert_close(mixed.x, expected.x, rtol=1e-4, atol=1e-4)


def test_other_kinds_of_priors_fill_their_passes_up_too(monkeypatch):
    compiler(monkeypatch, lambda output, *_: output)
    prior = random_masked_prior(compile_networks=True, rows=4)
    ask(prior, 4, guidance=2.0)
    tried = set(prior._fill_in.tried)
    tokens = torch.full((4, prior.num_tokens), prior.mask_id)
    for scales in ([1.0, 5.0, 1.0, 1.0], [5.0, 5.0, 0.0, 1.0], [3.0] * 4):
        mixed = prior.log_probs(tokens, 1, prior.condition(["a"] * 4, scales))
        assert prior._fill_in.tried == tried
        expected = random_masked_prior().log_probs(tokens, 1, prior.condition(["a"] * 4, scales))
        torch.testing.assert_close(mixed, expected)


def test_a_precision_that_is_too_low_for_the_weights_is_refused():
    parts = random_components(TINY)
    parts.vqvae.decoder.conv_in.weight.data.mul_(1e6)  # what follows divides by it again, but float16 ends before
    assert VQDiffusionPrior(parts).decode(torch.ones(2, 4, 16)).isfinite().all()
    with pytest.raises(InputError, match=r"dtype float16: the decoder's image is off by nan of its size"):
        VQDiffusionPrior(parts, dtype=torch.float16)


@pytest.mark.parametrize(
    "options", [{"dtype": torch.float16}, {"dtype": torch.bfloat16, "channels_last": True}, {"channels_last": True}]
)
def test_changed_networks_are_tried_at_no_cost_to_the_callers_random_numbers(options):
    state = torch.get_rng_state()
    prior = random_prior(**options)
    assert torch.equal(torch.get_rng_state(), state)
    assert len(prior._prompts) == 0 or prior.condition([""], [1.0]).embeddings.dtype == options.get(
        "dtype", torch.float32
    )


def test_plain_networks_are_not_tried(monkeypatch):
    monkeypatch.setattr("g2d2.priors.vq_diffusion.prior.ask", lambda *_: pytest.fail("asked"))
    random_prior()
    random_prior(dtype=torch.float64)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_embedded_decoder_compiled_has_the_gradient_of_the_plain_one():
    prior = load_prior("cifar10")
    compiled = Compiled("the decoder", prior._run_decoder, torch.float32)
    tokens = torch.randint(1024, (2, 64), generator=torch.Generator().manual_seed(1))
    grid = prior.codebook[tokens].mT.reshape(2, -1, 8, 8).requires_grad_()
    results = []
    for decode in (prior._run_decoder, compiled):
        images = decode(grid)
        results.append((images, *torch.autograd.grad(images.square().sum(), grid)))
    assert results[0][1].norm() > 1
    for value, expected in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(value, expected, rtol=1e-4, atol=1e-4)
