"""Priors of images of another size: `prior@256`."""

import pytest
import torch

from g2d2.priors import Latent, Resized, load_prior, locate_prior
from g2d2.priors.random_unets import save_latent, save_pixel
from g2d2.priors.resized import resize_matrix
from g2d2.priors.sized_sources import split_size
from operators import InputError, build_operator
from operators.super_resolution import bicubic_matrix


@pytest.fixture(scope="module")
def latent(tmp_path_factory):
    return save_latent(tmp_path_factory.mktemp("latent"))


@pytest.fixture(scope="module")
def pixel(tmp_path_factory):
    return save_pixel(tmp_path_factory.mktemp("pixel"))


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("sd15@256", ("sd15", (256, 256))),
        ("a/b@320x240", ("a/b", (240, 320))),
        ("./folder@8@4", ("./folder@8", (4, 4))),
        ("a/b", ("a/b", None)),
        ("me@home/b", ("me@home/b", None)),
        ("a@", ("a@", None)),
        ("@256", ("@256", None)),
    ],
)
def test_a_size_is_the_end_of_a_source(source, parts):
    assert split_size(source) == parts


def test_the_filter_is_that_of_super_resolution_and_the_identity_at_its_own_size():
    torch.testing.assert_close(resize_matrix(32, 8), bicubic_matrix(32, 4))
    torch.testing.assert_close(resize_matrix(16, 16), torch.eye(16, dtype=torch.float64))
    for size, new in ((16, 7), (7, 16), (512, 256), (1, 4)):
        assert resize_matrix(size, new).shape == (new, size)
        torch.testing.assert_close(resize_matrix(size, new).sum(1), torch.ones(new, dtype=torch.float64))


def test_a_smooth_image_survives_the_way_up_and_down():
    line = torch.linspace(-1, 1, 64, dtype=torch.float64).mul(3).sin()
    torch.testing.assert_close(resize_matrix(128, 64) @ (resize_matrix(64, 128) @ line), line, rtol=0, atol=5e-3)


def test_a_latent_prior_decodes_to_the_size_asked_for(latent):
    plain, prior = load_prior(latent), load_prior(f"{latent}@8")
    assert isinstance(prior, Resized)
    assert isinstance(prior, Latent)
    assert (prior.x_shape, prior.z_shape) == ((3, 8, 8), plain.z_shape)
    z = torch.randn(3, *prior.z_shape, requires_grad=True)
    x = prior.decode(z)
    matrix = resize_matrix(16, 8).float()
    torch.testing.assert_close(x, matrix @ plain.decode(z) @ matrix.mT, rtol=1e-4, atol=1e-5)
    again = prior.encode(x)
    up = resize_matrix(8, 16).float()
    torch.testing.assert_close(again, plain.encode(up @ x @ up.mT), rtol=1e-4, atol=1e-5)
    again.sum().backward()
    assert z.grad.abs().sum() > 0
    condition = prior.condition([""] * 3, [1.0] * 3)
    assert torch.equal(prior.denoise(z, 4, condition).x0, plain.denoise(z, 4, condition).x0)


def test_a_pixel_prior_becomes_a_latent_one(pixel):
    prior = load_prior(f"{pixel}@6x4")
    assert isinstance(prior, Latent)
    assert (prior.x_shape, prior.z_shape) == ((3, 4, 6), (3, 8, 8))
    assert prior.decode(torch.ones(1, 3, 8, 8)).allclose(torch.ones(1, 3, 4, 6))
    assert prior.encode(torch.ones(1, 3, 4, 6)).allclose(torch.ones(1, 3, 8, 8))


def test_it_fits_operators_of_its_size(latent):
    operator = build_operator("super_resolution", {"factor": 2}, x_shape=(3, 8, 8))
    assert locate_prior(f"{latent}@8").facts().takes(operator.signal, operator.x_shape)
    assert not locate_prior(latent).facts().takes(operator.signal, operator.x_shape)


def test_facts_digest_and_words_are_those_of_the_size(latent):
    located, plain = locate_prior(f"{latent}@8"), locate_prior(latent)
    facts = located.facts()
    assert (facts.kind, facts.x_shape, facts.train_steps) == (Latent, (3, 8, 8), plain.facts().train_steps)
    assert len({plain.digest(), located.digest(), locate_prior(f"{latent}@4").digest()}) == 3
    assert located.describe()["shape"].endswith("latents of 4 channels, resized to 8x8 with 3 channels")
    assert located.family.name == "latent_diffusion"
    assert located.check().startswith("16x16 pixels")
    assert located.size() == plain.size()
    assert load_prior(f"{latent}@8", digest=located.digest()).x_shape == (3, 8, 8)
    with pytest.raises(InputError, match="unconditional"):
        facts.check_prompt("a cat")


def test_a_folder_may_be_called_like_a_size(latent, tmp_path):
    (tmp_path / "prior@8").symlink_to(latent)
    assert locate_prior(tmp_path / "prior@8").facts().x_shape == (3, 16, 16)
    assert locate_prior(f"{tmp_path / 'prior@8'}@4").facts().x_shape == (3, 4, 4)


@pytest.mark.parametrize("rows", [1, 5])
def test_a_row_has_the_same_bits_in_any_batch(latent, rows):
    prior = load_prior(f"{latent}@8")
    z = torch.randn(12, *prior.z_shape, generator=torch.Generator().manual_seed(0))
    x = prior.decode(z)
    assert torch.equal(prior.decode(z[2 : 2 + rows]), x[2 : 2 + rows])
    assert torch.equal(prior.encode(x[2 : 2 + rows]), prior.encode(x)[2 : 2 + rows])


def test_what_cannot_be_resized_is_one_sentence(tiny_prior, tmp_path, monkeypatch):
    for source, message in (
        (f"{tiny_prior}@16", "pixel and latent diffusion priors can be given; this one is discrete"),
        (f"{tiny_prior}@0", "asks for images of 0x0; a side must be at least 1"),
        (f"{tmp_path}@8", "holds no prior of a known family"),
        ("nothing@8", "neither a folder here, a known name"),
        ("cifar10@64", "this one is discrete"),
    ):
        with pytest.raises(InputError, match=message) as error:
            locate_prior(source)
        assert "\n" not in str(error.value)


def test_a_prior_of_ones_own_can_be_resized(tmp_path, monkeypatch):
    (tmp_path / "my_sized.py").write_text(
        "import torch\nfrom g2d2.priors import Denoised, Diffusion\n"
        "class Mine(Diffusion):\n"
        "    x_shape = z_shape = (1, 8, 8)\n"
        "    alpha_bar = torch.tensor([0.9, 0.5], dtype=torch.float64)\n"
        "    def denoise(self, z_t, t, condition):\n        return Denoised(z_t, z_t)\n"
    )
    monkeypatch.setenv("G2D2_MODULES", str(tmp_path))
    prior = load_prior("my_sized:Mine@4")
    assert prior.x_shape == (1, 4, 4)
    assert prior.decode(torch.zeros(2, 1, 8, 8)).shape == (2, 1, 4, 4)
