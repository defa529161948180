"""A folder is checked before it is used: missing, cut, swapped or malicious files are named, and nothing runs."""

import json
import os
import pickle
import shutil
from dataclasses import replace

import pytest
import torch

from g2d2.priors import TINY, check_folder, load_prior, prior_digest
from g2d2.priors.catalog import CATALOG, KnownFile
from g2d2.priors.digest import file_digest
from g2d2.priors.random_weights import random_components
from operators import InputError

WEIGHTS = "diffusion_pytorch_model.safetensors"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return saved(TINY, tmp_path_factory.mktemp("prior"))


def saved(shape, folder):
    random_components(shape, seed=4).save(folder)
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "copy")


def refused(folder, message, known=None):
    with pytest.raises(InputError, match=message) as error:
        check_folder(folder, known)
    assert "\n" not in str(error.value)


def edit(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_whole_folder_gives_its_shape(folder):
    shape = check_folder(folder)
    assert (shape.image_size, shape.tokens, shape.codes, shape.train_steps) == ((8, 8), (4, 4), 8, 10)
    assert str(shape) == "8x8 pixels, 4x4 tokens, 8 codes"


@pytest.mark.parametrize(
    "file",
    [
        "vqvae/config.json",
        f"vqvae/{WEIGHTS}",
        "scheduler/scheduler_config.json",
        "tokenizer/tokenizer.json",
        "text_encoder/model.safetensors",
        f"learned_classifier_free_sampling_embeddings/{WEIGHTS}",
    ],
)
def test_a_missing_file_is_named(folder, file):
    (folder / file).unlink()
    component, _, name = file.partition("/")
    refused(folder, component)
    refused(folder, name.replace(".", r"\."))


@pytest.mark.parametrize("kept", [0, 4, 50, -1])
def test_a_cut_safetensors_is_named_with_its_byte_counts(folder, kept):
    path = folder / "transformer" / WEIGHTS
    content = path.read_bytes()
    path.write_bytes(content[:kept])
    refused(folder, f"transformer/{WEIGHTS}")
    if kept == -1:
        refused(folder, f"is cut short: its header promises {len(content)} bytes, the file has {len(content) - 1}")


def test_garbage_and_appended_bytes_are_not_safetensors(folder):
    path = folder / "vqvae" / WEIGHTS
    content = path.read_bytes()
    path.write_bytes(content + b"!")
    refused(folder, "has bytes too many")
    path.write_bytes((20).to_bytes(8, "little") + b"x" * 40)
    refused(folder, "its header cannot be read")


def test_parts_that_do_not_fit_each_other_are_named(folder, tmp_path):
    edit(folder / "scheduler" / "scheduler_config.json", num_vec_classes=12)
    refused(folder, r"scheduler_config.json has num_vec_classes 12, which does not fit the codebook of 8 codes")
    other = saved(replace(TINY, codes=12), tmp_path / "other")
    shutil.rmtree(folder / "transformer")
    shutil.copytree(other / "transformer", folder / "transformer")
    refused(folder, "num_vector_embeds 13, which does not fit the codebook of 8 codes; it must be 9")


def test_a_configuration_that_disagrees_with_its_weights_is_named(folder):
    edit(folder / "vqvae" / "config.json", num_vq_embeddings=12)
    edit(folder / "transformer" / "config.json", num_vector_embeds=13)
    edit(folder / "scheduler" / "scheduler_config.json", num_vec_classes=13)
    refused(folder, "quantize.embedding.weight is 8x4 and must be 12x4")


def test_a_text_encoder_of_another_width_is_named(folder):
    edit(folder / "text_encoder" / "config.json", hidden_size=99)
    refused(folder, "hidden_size 99, which does not fit the transformer's cross_attention_dim 8")


def test_broken_json_is_named(folder):
    (folder / "transformer" / "config.json").write_text("{")
    refused(folder, "transformer/config.json is not readable JSON")


class Malicious:
    """Creates a file when unpickled by a loader that executes what it reads."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("save", [torch.save, lambda content, path: path.write_bytes(pickle.dumps(content))])
def test_a_malicious_pickle_is_refused_and_not_executed(folder, tmp_path, save):
    trap = tmp_path / "executed"
    (folder / "vqvae" / WEIGHTS).unlink()
    save({"conv.weight": Malicious(str(trap))}, folder / "vqvae" / "diffusion_pytorch_model.bin")
    refused(folder, r"vqvae/diffusion_pytorch_model\.bin: it is not plain tensors.*nothing in it was executed")
    with pytest.raises(InputError, match=r"diffusion_pytorch_model\.bin.*nothing in it was executed"):
        load_prior(folder)
    assert not trap.exists()


def test_a_cut_pickle_is_named(folder):
    (folder / "vqvae" / WEIGHTS).unlink()
    path = folder / "vqvae" / "diffusion_pytorch_model.bin"
    torch.save({"a": torch.zeros(1000)}, path)
    path.write_bytes(path.read_bytes()[:2000])
    refused(folder, r"diffusion_pytorch_model\.bin: it ")


def test_plain_pickled_tensors_are_checked_like_safetensors(folder):
    from safetensors.torch import load_file

    tensors = load_file(folder / "vqvae" / WEIGHTS)
    (folder / "vqvae" / WEIGHTS).unlink()
    torch.save(tensors, folder / "vqvae" / "diffusion_pytorch_model.bin")
    check_folder(folder)
    tensors["quantize.embedding.weight"] = torch.zeros(7, 4)
    torch.save(tensors, folder / "vqvae" / "diffusion_pytorch_model.bin")
    refused(folder, "quantize.embedding.weight is 7x4 and must be 8x4")


def test_published_sizes_and_digests_are_compared(folder):
    path = folder / "vqvae" / WEIGHTS
    size, base = path.stat().st_size, CATALOG["ithq"]

    def known(**changes):
        return replace(base, files=(KnownFile(f"vqvae/{WEIGHTS}", **{"size": size, **changes}),))

    check_folder(folder, known())
    check_folder(folder, known(sha256=file_digest(path)))
    check_folder(folder, known(size=round(size * 1.004), exact=False))
    check_folder(folder, replace(base, files=(), digest=prior_digest(folder)))
    refused(folder, f"has {size} bytes; 'ithq' publishes it with {size + 1}", known(size=size + 1))
    refused(folder, "publishes it with about", known(size=size * 2, exact=False))
    refused(folder, "has SHA-256", known(sha256="0" * 64))
    refused(folder, "is published with 123", replace(base, files=(), digest="123"))


def test_the_digest_follows_what_is_loaded_and_nothing_else(whole, folder):
    before = prior_digest(folder)
    assert before == prior_digest(whole)
    assert len(before) == 64
    (folder / "README.md").write_text("a card")
    (folder / "vqvae" / "diffusion_pytorch_model.fp16.safetensors").write_bytes(b"half")
    assert prior_digest(folder) == before
    edit(folder / "scheduler" / "scheduler_config.json", gamma_cum_end=0.5)
    changed = prior_digest(folder)
    assert changed != before
    path = folder / "vqvae" / WEIGHTS
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert prior_digest(folder) not in (before, changed)
