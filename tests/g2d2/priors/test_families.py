"""Families: a folder is recognised by what it holds, hashed, described and loaded by the family it belongs to."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from g2d2.priors import FAMILIES, Discrete, Family, Prior, PriorFacts, load_prior, locate_prior, prior_digest, recognise
from g2d2.priors.catalog import CATALOG
from g2d2.priors.families import find_family
from g2d2.priors.hub import cached_folder, fetch_from_hub
from g2d2.priors.vq_diffusion.family import VQDiffusion
from g2d2.priors.vq_diffusion.random_weights import TINY, random_components
from operators import InputError

ROOT = Path(__file__).parents[3]
EMBEDDED_DIGEST = "79e3783a0092c019f8d3b6834447a3f4860f278e2a9d26e3045765ecf407dba7"
"""Of the embedded prior. Ids of all stored results hang on it: it changes with the weights and with nothing else."""


def refusal(call, *args, **options):
    with pytest.raises(InputError) as error:
        call(*args, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_embedded_prior_has_the_digest_that_stored_results_were_made_with():
    located = locate_prior("cifar10")
    assert located.digest() == EMBEDDED_DIGEST
    assert prior_digest(located.folder) == EMBEDDED_DIGEST
    assert locate_prior(located.folder).digest() == EMBEDDED_DIGEST


def test_the_digest_is_sha256_over_sorted_names_sizes_and_contents(tiny_prior):
    """Written down a second time, file by file."""
    expected = hashlib.sha256()
    names = sorted(str(path.relative_to(tiny_prior)) for path in tiny_prior.rglob("*") if path.is_file())
    for name in names:
        content = (tiny_prior / name).read_bytes()
        expected.update(f"{name}\0{len(content)}\0".encode() + content)
    assert prior_digest(tiny_prior) == expected.hexdigest()


def test_every_family_is_complete():
    for name in FAMILIES.names():
        family = find_family(name)
        assert family.name == name
        assert issubclass(family.kind, Prior)
        assert family.looks_for
        assert family.hub_patterns


def test_what_is_known_of_a_located_prior_needs_no_network(tiny_prior):
    located = locate_prior(tiny_prior)
    assert located.source == str(tiny_prior)
    assert located.folder == tiny_prior
    assert isinstance(located.family, VQDiffusion)
    assert located.facts().x_shape == (3, 8, 8)
    assert located.describe()["shape"] == located.check() == "8x8 pixels, 4x4 tokens, 8 codes"
    assert located.size() == sum(path.stat().st_size for path in tiny_prior.rglob("*") if path.is_file())
    assert isinstance(located.load(), Discrete)


@pytest.mark.parametrize("sign", ["model_index.json", "scheduler", "learned_classifier_free_sampling_embeddings"])
def test_one_sign_is_enough_so_that_what_is_missing_can_be_named(tiny_prior, tmp_path, sign):
    folder = tmp_path / "some"
    folder.mkdir()
    if sign == "model_index.json":
        (folder / sign).write_text(json.dumps({"_class_name": "VQDiffusionPipeline"}))
    else:
        shutil.copytree(tiny_prior / sign, folder / sign)
    assert isinstance(recognise(folder), VQDiffusion)
    for call in (load_prior, prior_digest, lambda place: locate_prior(place).check()):
        assert "has no folder 'vqvae'; it must hold vqvae, transformer, scheduler" in refusal(call, folder)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"prior/config.json": "{}", "decoder/config.json": "{}"},
        {"vqvae/config.json": "{}", "transformer/config.json": "{}", "tokenizer/tokenizer_config.json": "{}"},
        {"model_index.json": '{"_class_name": "WuerstchenPriorPipeline"}'},
        {"model_index.json": "{", "scheduler/scheduler_config.json": "no JSON"},
        {"model_index.json": "[]", "scheduler/scheduler_config.json": '{"_class_name": 3}'},
        {"scheduler/scheduler_config.json": '{"_class_name": "DDPMScheduler"}'},
    ],
)
def test_a_folder_with_other_parts_is_one_sentence_that_lists_what_families_look_for(tmp_path, content):
    for name, text in content.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    sentence = refusal(locate_prior, tmp_path)
    assert sentence.startswith(f"prior: '{tmp_path}' holds no prior of a known family: ")
    for name in FAMILIES.names():
        assert f"{name} looks for {find_family(name).looks_for}" in sentence
    assert "is not a folder" in refusal(recognise, tmp_path / "nowhere")


def test_a_hub_repository_of_no_family_is_called_by_its_own_name(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(tmp_path / "absent"))
    assert refusal(locate_prior, "some/model").startswith("prior: 'some/model' holds no prior of a known family: ")


def test_a_hub_repository_is_recognised_by_its_configurations_before_weights_are_fetched(tiny_prior, tmp_path):
    asked = []

    def download(_repository, allow_patterns, **_):
        asked.append(allow_patterns)
        patterns = [pattern.split("/")[-1] for pattern in allow_patterns]
        for path in tiny_prior.rglob("*"):
            if path.is_file() and any(path.match(pattern) for pattern in patterns):
                target = tmp_path / path.relative_to(tiny_prior)
                target.parent.mkdir(exist_ok=True)
                shutil.copy(path, target)
        return str(tmp_path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("huggingface_hub.snapshot_download", download)
        family, folder = fetch_from_hub("some/prior")
        assert asked == [["*.json"], list(VQDiffusion.hub_patterns)]
        assert prior_digest(folder) == prior_digest(tiny_prior)
        asked.clear()
        fetch_from_hub("some/prior", family=family)  # a known one skips the first look
        assert asked == [list(VQDiffusion.hub_patterns)]
        assert cached_folder("some/prior") == tmp_path
        (tmp_path / "vqvae" / "diffusion_pytorch_model.safetensors").unlink()
        patch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(tmp_path))
        assert cached_folder("some/prior") is None


MODULE = '''
"""A family of the user's own: a codebook in one file."""
import torch
from safetensors.torch import load_file

from g2d2.priors import Condition, Discrete, Family, PriorFacts
from g2d2.schedule import cosine_mask_schedule


class Blocks(Discrete):
    signal, num_tokens = "image", 4

    def __init__(self, codebook, device):
        super().__init__(device)
        self.codebook = codebook.to(device)
        self.x_shape, self.schedule = (codebook.shape[1], 2, 2), cosine_mask_schedule(5, len(codebook))

    def decode(self, embeddings, active=None):
        return embeddings.unflatten(-1, (2, 2))


class BlockFamily(Family):
    name, kind = "blocks", Discrete
    looks_for = "a file blocks.safetensors"
    folder = "weights"

    def recognises(self, folder):
        return (folder / "blocks.safetensors").is_file()

    def files(self, folder):
        return [folder / "blocks.safetensors"]

    def facts(self, folder):
        return PriorFacts(Discrete, "image", (3, 2, 2), 5)

    def load(self, folder, *, device, dtype, channels_last, compile_networks, rows):
        return Blocks(load_file(folder / "blocks.safetensors")["codebook"], device)


class Homeless(BlockFamily):
    folder = None
'''


@pytest.fixture
def own_family(tmp_path, monkeypatch):
    """A module with a family, a folder beside it, and how both are named."""
    from safetensors.torch import save_file

    name = f"own_family_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / "weights").mkdir()
    save_file({"codebook": torch.arange(24.0).view(8, 3)}, tmp_path / "weights" / "blocks.safetensors")
    monkeypatch.setenv("G2D2_MODULES", str(tmp_path))
    yield f"{name}:BlockFamily"
    sys.modules.pop(name, None)
    sys.path[:] = [place for place in sys.path if place != str(tmp_path)]


def test_a_family_of_ones_own_is_a_prior_by_its_folder(own_family, tmp_path):
    located = locate_prior(own_family)
    assert located.folder == tmp_path / "weights"
    assert located.facts() == PriorFacts(Discrete, "image", (3, 2, 2), 5)
    assert located.check() == "2x2 with 3 channels"
    prior = load_prior(own_family, digest=located.digest())
    assert prior.codebook.shape == (8, 3)
    assert prior.x_shape == (3, 2, 2)


def test_its_digest_covers_its_files_and_its_code(own_family, tmp_path):
    located = locate_prior(own_family)
    before = located.digest()
    weights, module = tmp_path / "weights" / "blocks.safetensors", tmp_path / f"{own_family.partition(':')[0]}.py"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + b"?")
    changed = located.digest()
    weights.write_bytes(content)
    assert located.digest() == before
    module.write_text(MODULE.replace("(2, 2)", "(4, 1)"))
    assert len({before, changed, located.digest()}) == 3


def test_what_is_wrong_with_its_folder_is_one_sentence(own_family, tmp_path):
    module = own_family.partition(":")[0]
    assert "give it an attribute `folder`" in refusal(locate_prior, f"{module}:Homeless")
    (tmp_path / "weights" / "blocks.safetensors").unlink()
    assert "lacks what it looks for: a file blocks.safetensors" in refusal(locate_prior, own_family)
    shutil.rmtree(tmp_path / "weights")
    assert "weights, is not there" in refusal(locate_prior, own_family)


def test_an_installed_family_recognises_folders_by_itself(own_family, tmp_path):
    """By an entry point, as a package declares it; ours are asked first."""
    module = own_family.partition(":")[0]
    info = tmp_path / "blocks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: blocks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[g2d2.families]\nblocks = {own_family}\nvq_diffusion = {module}:Homeless\n"
    )
    code = (
        "from g2d2.priors import FAMILIES, load_prior, locate_prior\n"
        f"located = locate_prior({str(tmp_path / 'weights')!r})\n"
        "print(FAMILIES.names(), located.family.name, type(located.load()).__name__)\n"
        "print(locate_prior('cifar10').family.name)"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.split("\n") == [
        f"{tuple(sorted(['blocks', *FAMILIES.names()]))} blocks Blocks",
        "vq_diffusion",
        "",
    ], done.stderr


def test_a_family_must_be_one():
    assert "must be a subclass of g2d2.priors.families.Family" in refusal(FAMILIES.find, "operators.base:Operator")
    assert refusal(find_family, "vq_difusion").startswith(
        "prior family is 'vq_difusion' (did you mean 'vq_diffusion'?): it must be one of "
    )


def test_a_prior_that_changed_while_it_was_loaded_is_refused(tmp_path):
    """The digest is taken after loading: files that are written anew meanwhile are noticed."""
    random_components(TINY).save(tmp_path)
    located = locate_prior(tmp_path)
    digest = located.digest()

    class Rewriting(VQDiffusion):
        def load(self, folder, **options):
            prior = super().load(folder, **options)
            path = folder / "scheduler" / "scheduler_config.json"
            path.write_text(path.read_text() + " ")
            return prior

        def digest(self, folder):
            return VQDiffusion().digest(folder)

    load_prior(located, digest=digest)
    changing = type(located)(located.source, Rewriting(), located.folder)
    assert f"the work was planned with {digest[:12]}" in refusal(load_prior, changing, digest=digest)


def test_catalog_names_keep_their_family_even_where_files_are_missing(tmp_path, monkeypatch):
    from g2d2.priors import catalog

    monkeypatch.setattr(catalog, "EMBEDDED", tmp_path)
    (tmp_path / CATALOG["cifar10"].location).mkdir()
    assert "has no folder 'vqvae'" in refusal(load_prior, "cifar10")


def test_an_unfinished_family_says_so():
    class Nothing(Family):
        name = "nothing"

    for call in (Nothing().recognises, Nothing().files, Nothing().facts):
        with pytest.raises(NotImplementedError):
            call(Path())
