"""A prior of one's own, `module:Thing`: a class of a few lines, known by its attributes and hashed by its source."""

import sys

import pytest
import torch

from g2d2.methods.g2d2 import G2D2
from g2d2.priors import Discrete, load_prior, locate_prior
from operators import InputError, build_operator, measure

MODULE = '''
import math

import torch

from g2d2.priors import Condition, Discrete, Prior
from g2d2.schedule import cosine_mask_schedule


class Pixels(Discrete):
    """Every code is as likely as any other; a code paints its pixel."""

    x_shape, num_tokens = (3, 4, 4), 16
    schedule = cosine_mask_schedule(steps=10, num_codes=8)
    mask_id = 11  # the network's vocabulary has other things after its 8 codes
    seen = []

    def __init__(self, device="cpu"):
        super().__init__(device)
        self.codebook = torch.linspace(-1, 1, 24, device=device).view(8, 3).roll(3, 0)

    def condition(self, prompts, guidance, x_shapes=None):
        return Condition(torch.zeros(len(prompts), 1, 1), torch.tensor(guidance))

    def log_probs(self, z_t, t, condition, top_p=1.0):
        self.seen.append(z_t)
        return torch.full((len(z_t), 8, 16), -math.log(8), device=z_t.device)

    def decode(self, embeddings, active=None):
        return embeddings.unflatten(-1, (4, 4))


class Sloppy(Discrete):
    """Its shape is made later."""


class Misshapen(Discrete):
    x_shape = (3, 4)


class Stepped(Pixels):
    train_steps = 7


class Computed(Pixels):
    @property
    def schedule(self):
        return cosine_mask_schedule(steps=10, num_codes=8)


class Bare(Prior):
    x_shape = (3, 4, 4)


class Broken(Pixels):
    def __init__(self, device):
        raise RuntimeError("no weights\\nhere")


class Shy(Pixels):
    def __init__(self):
        super().__init__()


class Outer:
    class Inner(Pixels):
        """Nested."""


not_a_class = Pixels()
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    name = f"own_prior_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    yield name
    sys.modules.pop(name, None)
    sys.path[:] = [place for place in sys.path if place != str(tmp_path)]


def refusal(call, *args, **options):
    with pytest.raises(InputError) as error:
        call(*args, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_facts_come_from_the_class_alone(module):
    located = locate_prior(f"{module}:Pixels")
    assert located.source == located.family.name == f"{module}:Pixels"
    assert located.folder is None
    facts = located.facts()
    assert (facts.kind, facts.signal, facts.x_shape, facts.train_steps) == (Discrete, "image", (3, 4, 4), 10)
    assert facts.too_long(["x" * 10_000]) == {}
    assert located.check() == "4x4 with 3 channels"
    assert located.describe()["notes"] == "Every code is as likely as any other; a code paints its pixel."
    assert located.size() == 0
    assert locate_prior(f"{module}:Stepped").facts().train_steps == 7
    assert locate_prior(f"{module}:Computed").facts().train_steps is None
    assert locate_prior(f"{module}:Bare").facts().kind.__name__ == "Prior"
    assert locate_prior(f"{module}:Outer.Inner").facts().x_shape == (3, 4, 4)


def test_it_restores_and_its_mask_is_the_networks_own(module):
    source = f"{module}:Pixels"
    prior = load_prior(source, digest=locate_prior(source).digest())
    assert (prior.device, prior.dtype) == (torch.device("cpu"), torch.float32)
    truth = prior.decode(prior.codebook[torch.arange(16)[None] % 8].mT)
    operator = build_operator("identity", {}, x_shape=prior.x_shape)
    y = measure(operator, truth, sigma=0.01, seeds=[0])
    method = G2D2()
    settings = method.settings(steps=10, iterations=30, learning_rate=5.0, eta_kl=1e-4, final="argmax")
    result = method.run(prior, operator, y, settings, seeds=[0])
    assert (result.x - truth).abs().mean() < 0.1
    assert torch.equal(prior.seen[0], torch.full((1, 16), 11))
    for tokens in prior.seen:
        assert ((tokens < 8) | (tokens == 11)).all()
    assert (result.latent < 8).all()


def test_the_digest_is_of_the_source_and_the_name(module, tmp_path):
    file = tmp_path / f"{module}.py"
    digests = [locate_prior(f"{module}:{name}").digest() for name in ("Pixels", "Stepped")]
    assert digests[0] == locate_prior(f"{module}:Pixels").digest()
    file.write_text(MODULE + "\n# changed")
    digests.append(locate_prior(f"{module}:Pixels").digest())
    assert len(set(digests)) == 3
    assert all(len(digest) == 64 for digest in digests)
    assert "planned with" in refusal(load_prior, f"{module}:Pixels", digest=digests[0])


def test_a_class_that_another_module_only_imports_is_known_by_its_home(module, tmp_path):
    (tmp_path / f"{module}_again.py").write_text(f"from {module} import Pixels\n")
    assert locate_prior(f"{module}_again:Pixels").digest() == locate_prior(f"{module}:Pixels").digest()
    sys.modules.pop(f"{module}_again", None)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"dtype": "bfloat16"}, "dtype bfloat16"),
        ({"dtype": "float64"}, "dtype float64"),
        ({"compile_networks": True}, "compile"),
        ({"channels_last": True}, "channels_last"),
    ],
)
def test_what_is_for_files_is_refused(module, options, named):
    sentence = refusal(load_prior, f"{module}:Pixels", **options)
    assert f"is a class of your own, and {named} is for priors that are loaded from files" in sentence


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Sloppy", "has no x_shape; give its class one, such as x_shape = (3, 32, 32)"),
        ("Misshapen", "x_shape is (3, 4): it must be three positive integers"),
        ("Nothing", "cannot be loaded (module '"),
        ("not_a_class", "it must be a subclass of g2d2.priors.base.Prior or g2d2.priors.families.Family"),
        ("math", "it must be a subclass of g2d2.priors.base.Prior"),
    ],
)
def test_what_is_no_prior_is_one_sentence(module, name, words):
    assert words in refusal(lambda: locate_prior(f"{module}:{name}").facts())


def test_a_class_that_cannot_be_made_is_one_sentence(module):
    assert "cannot be made on cpu (RuntimeError: no weights here)" in refusal(load_prior, f"{module}:Broken")
    assert "cannot be made on cpu (TypeError: " in refusal(load_prior, f"{module}:Shy")


def test_a_module_that_is_not_there_is_one_sentence_with_the_names_that_are(module):
    sentence = refusal(locate_prior, "no_such_module:Thing")
    assert "prior: 'no_such_module:Thing' cannot be loaded (No module named 'no_such_module')" in sentence
    assert all(name in sentence for name in ("cifar10", "cvqdiff-ffhq", "ithq"))


def test_a_folder_of_that_name_comes_first(module, tmp_path, tiny_prior):
    import shutil

    shutil.copytree(tiny_prior, tmp_path / f"{module}:Pixels")
    assert locate_prior(f"{module}:Pixels").family.name == "vq_diffusion"
