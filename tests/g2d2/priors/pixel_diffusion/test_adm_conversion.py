"""ADM's converter, on random checkpoints in its layout, against its forward pass written down here independently."""

import math
import os

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from g2d2.priors import load_prior, locate_prior
from g2d2.priors.pixel_diffusion.adm_conversion import AdmSource, adm_parts, convert_adm
from g2d2.priors.pixel_diffusion.adm_layout import read_adm_shape
from operators import InputError

HEAD = 16


class ResBlock(nn.Module):
    """Group norm, SiLU and convolution twice; the time embedding scales and shifts between them."""

    def __init__(self, width, out, time, resize=None, scale_shift=True):
        super().__init__()
        self.resize, self.scale_shift = resize, scale_shift
        self.in_layers = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, out, 3, padding=1))
        self.emb_layers = nn.Sequential(nn.SiLU(), nn.Linear(time, 2 * out if scale_shift else out))
        self.out_layers = nn.Sequential(
            nn.GroupNorm(32, out), nn.SiLU(), nn.Dropout(0.0), nn.Conv2d(out, out, 3, padding=1)
        )
        self.skip_connection = nn.Identity() if width == out else nn.Conv2d(width, out, 1)

    def forward(self, x, emb):
        hidden = F.silu(self.in_layers[0](x))
        if self.resize == "down":
            hidden, x = F.avg_pool2d(hidden, 2), F.avg_pool2d(x, 2)
        if self.resize == "up":
            hidden, x = (F.interpolate(part, scale_factor=2, mode="nearest") for part in (hidden, x))
        hidden, told = self.in_layers[2](hidden), self.emb_layers(emb)[:, :, None, None]
        if self.scale_shift:
            scale, shift = told.chunk(2, dim=1)
            hidden = self.out_layers[0](hidden) * (1 + scale) + shift
        else:
            hidden = self.out_layers[0](hidden + told)
        return self.skip_connection(x) + self.out_layers[3](F.silu(hidden))


class Attention(nn.Module):
    """Heads one after the other in the joint projection, each with its own q, k and v."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.GroupNorm(32, width)
        self.qkv = nn.Conv1d(width, 3 * width, 1)
        self.proj_out = nn.Conv1d(width, width, 1)

    def forward(self, x, emb):
        batch, width, *size = x.shape
        flat = x.reshape(batch, width, -1)
        heads = self.qkv(self.norm(flat)).reshape(batch * width // HEAD, 3 * HEAD, -1)
        q, k, v = heads.split(HEAD, dim=1)
        weights = torch.einsum("bct,bcs->bts", q / HEAD**0.25, k / HEAD**0.25).softmax(-1)
        out = torch.einsum("bts,bcs->bct", weights, v).reshape(batch, width, -1)
        return (flat + self.proj_out(out)).reshape(batch, width, *size)


class Conv(nn.Conv2d):
    def forward(self, x, emb):
        return super().forward(x)


class Adm(nn.Module):
    """The network whose state dict is the checkpoint."""

    def __init__(self, base, multiples, layers, attention, channels=3, out=6, classes=None, scale_shift=True):
        super().__init__()
        time, self.base = 4 * base, base
        self.time_embed = nn.Sequential(nn.Linear(base, time), nn.SiLU(), nn.Linear(time, time))
        if classes:
            self.label_emb = nn.Embedding(classes, time)

        def block(*modules):
            return nn.ModuleList(modules)

        def residual(width, out, resize=None):
            return ResBlock(width, out, time, resize, scale_shift)

        self.input_blocks = nn.ModuleList([block(Conv(channels, base, 3, padding=1))])
        width, skips = base, [base]
        for level, multiple in enumerate(multiples):
            for _ in range(layers):
                parts = [residual(width, base * multiple)]
                width = base * multiple
                self.input_blocks.append(block(*parts, *([Attention(width)] if level in attention else [])))
                skips.append(width)
            if level + 1 < len(multiples):
                self.input_blocks.append(block(residual(width, width, "down")))
                skips.append(width)
        self.middle_block = block(residual(width, width), Attention(width), residual(width, width))
        self.output_blocks = nn.ModuleList()
        for level, multiple in reversed(list(enumerate(multiples))):
            for layer in range(layers + 1):
                parts = [residual(width + skips.pop(), base * multiple)]
                width = base * multiple
                if level in attention:
                    parts.append(Attention(width))
                if level and layer == layers:
                    parts.append(residual(width, width, "up"))
                self.output_blocks.append(block(*parts))
        self.out = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, out, 3, padding=1))

    def forward(self, x, t, labels=None):
        half = self.base // 2
        angles = t[:, None].float() * torch.exp(-math.log(10000) * torch.arange(half) / half)
        emb = self.time_embed(torch.cat([angles.cos(), angles.sin()], dim=1))
        if labels is not None:
            emb = emb + self.label_emb(labels)
        kept = []
        for block in self.input_blocks:
            for module in block:
                x = module(x, emb)
            kept.append(x)
        for module in self.middle_block:
            x = module(x, emb)
        for block in self.output_blocks:
            x = torch.cat([x, kept.pop()], dim=1)
            for module in block:
                x = module(x, emb)
        return self.out(x)


LAYOUTS = {
    "ffhq": {"base": 32, "multiples": (1, 1, 2, 2, 4, 4), "layers": 1, "attention": (4,)},
    "imagenet": {"base": 32, "multiples": (1, 1, 2, 2, 4, 4), "layers": 2, "attention": (3, 4, 5)},
    "class-conditional": {"base": 32, "multiples": (1, 2), "layers": 1, "attention": (1,), "classes": 7},
    "fixed-variance": {"base": 32, "multiples": (1, 2), "layers": 2, "attention": (), "out": 3, "scale_shift": False},
    "one-level": {"base": 32, "multiples": (1,), "layers": 1, "attention": (0,)},
}


def random_adm(layout, seed=0):
    torch.manual_seed(seed)
    network = Adm(**LAYOUTS[layout]).eval().requires_grad_(False)
    for parameter in network.parameters():  # unlike torch's own start, this shows every mistake in the output
        parameter.copy_(torch.randn(parameter.shape) / math.sqrt(max(1, parameter[0].numel())) * 1.3)
    return network


@pytest.fixture
def checkpoint(tmp_path):
    def save(network, name="adm.pt", change=lambda state: state):
        path = tmp_path / name
        torch.save(change(dict(network.state_dict())), path)
        return path

    return save


def batch(network, side=32):
    generator = torch.Generator().manual_seed(1)
    labels = torch.tensor([5, 0]) if hasattr(network, "label_emb") else None
    return torch.randn(2, 3, side, side, generator=generator), torch.tensor([3, 871]), labels


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_converted_network_computes_the_same(layout, checkpoint):
    network = random_adm(layout)
    x, t, labels = batch(network)
    unet, scheduler = adm_parts(AdmSource(checkpoint(network), side=32, head_width=HEAD))
    expected, output = network(x, t, labels), unet.eval()(x, t, class_labels=labels).sample
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5 * float(expected.abs().max()))
    assert scheduler.config.variance_type == ("fixed_large" if layout == "fixed-variance" else "learned_range")


def test_q_k_and_v_cut_into_three_would_be_another_network(checkpoint):
    network = random_adm("ffhq")
    x, t, _ = batch(network)
    naive, _ = adm_parts(AdmSource(checkpoint(network), side=32, head_width=HEAD, qkv="separate"))
    expected = network(x, t)
    assert (naive.eval()(x, t).sample - expected).norm() > 0.01 * expected.norm()


def test_a_converted_prior_loads_generates_and_denoises(checkpoint, tmp_path):
    network = random_adm("class-conditional")
    folder = convert_adm(AdmSource(checkpoint(network), side=16, head_width=HEAD), tmp_path / "prior")
    located = locate_prior(folder)
    assert located.family.name == "pixel_diffusion"
    assert located.check() == "16x16 pixels"
    prior = load_prior(folder)
    x, _, labels = batch(network, 16)
    denoised = prior.denoise(x, 500, prior.condition(["5", "0"], [1.0, 1.0]))
    output = network(x, torch.tensor([500, 500]), labels)
    torch.testing.assert_close(denoised.eps, output[:, :3], rtol=1e-4, atol=1e-4)
    low, high = prior.noise.log_variance_range(500)
    share = (output[:, 3:] + 1) / 2
    torch.testing.assert_close(denoised.log_variance, share * high + (1 - share) * low, rtol=1e-4, atol=1e-3)


def test_the_stock_pipeline_runs_a_converted_prior(checkpoint, tmp_path):
    from diffusers import DDPMPipeline

    folder = convert_adm(AdmSource(checkpoint(random_adm("one-level")), side=8, head_width=HEAD), tmp_path / "prior")
    pipeline = DDPMPipeline.from_pretrained(folder)
    pipeline.set_progress_bar_config(disable=True)
    images = pipeline(batch_size=2, num_inference_steps=2, output_type="np").images
    assert images.shape == (2, 8, 8, 3)


def test_the_published_shapes_are_read_from_the_tensors(tmp_path):
    with torch.device("meta"):
        ffhq, imagenet = (Adm(**LAYOUTS[name] | {"base": base}) for name, base in (("ffhq", 128), ("imagenet", 256)))
    shape = read_adm_shape(ffhq.state_dict(), tmp_path)
    assert (shape.widths, shape.layers) == ((128, 128, 256, 256, 512, 512), 1)
    assert shape.attention == (False,) * 4 + (True, False)
    shape = read_adm_shape(imagenet.state_dict(), tmp_path)
    assert (shape.widths, shape.layers) == ((256, 256, 512, 512, 1024, 1024), 2)
    assert shape.attention == (False,) * 3 + (True,) * 3
    assert shape.learned_variance


def without(*names):
    return lambda state: {name: value for name, value in state.items() if not name.startswith(names)}


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (without("out.2"), {}, "no tensor 'out.2.weight', so it is not one of ADM"),
        (without("input_blocks.2.0.out_layers"), {}, "it has no tensor 'input_blocks.2.0.out_layers.0.weight'"),
        (without("output_blocks.3.1", "output_blocks.3.0"), {}, "12 blocks down|no tensor"),
        (
            lambda state: state | {"extra.weight": torch.zeros(1)},
            {},
            "has a tensor 'extra.weight', which such a network",
        ),
        (lambda state: state | {"out.2.bias": torch.zeros(5)}, {}, "'out.2.bias' is 5 and must be 6"),
        (lambda state: state | {"input_blocks.2.0.op.weight": torch.zeros(1)}, {}, "resizes by a convolution"),
        (lambda state: {"a": {"b": torch.zeros(1)}}, {}, "it must hold named tensors and nothing else"),
        (lambda state: state, {"head_width": 48}, "head width: 48 does not divide the 128 channels"),
        (lambda state: state, {"side": 48}, "size: 48 cannot be halved 5 times"),
    ],
)
def test_what_cannot_be_converted_is_one_sentence(checkpoint, tmp_path, change, options, message):
    path = checkpoint(random_adm("ffhq"), change=change)
    source = AdmSource(path, **{"side": 32, "head_width": HEAD} | options)
    with pytest.raises(InputError, match=message) as error:
        convert_adm(source, tmp_path / "prior")
    assert "\n" not in str(error.value)
    assert not list(tmp_path.glob("*prior*"))


class Malicious:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_nothing_in_a_checkpoint_is_executed(tmp_path):
    trap = tmp_path / "executed"
    torch.save({"out.2.weight": Malicious(str(trap))}, tmp_path / "adm.pt")
    with pytest.raises(InputError, match="nothing in it was executed"):
        convert_adm(AdmSource(tmp_path / "adm.pt"), tmp_path / "prior")
    assert not trap.exists()


def test_a_folder_with_something_in_it_is_not_written_to(tmp_path):
    (tmp_path / "prior").mkdir()
    (tmp_path / "prior" / "mine").touch()
    with pytest.raises(InputError, match="exists already; give a new folder"):
        convert_adm(AdmSource(tmp_path / "adm.pt"), tmp_path / "prior")
