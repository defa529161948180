"""A folder is checked before it is used: missing, cut, swapped or malicious files are named, and nothing runs."""

import contextlib
import json
import os
import pickle
import re
import shutil
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

from g2d2.priors import TINY, load_prior, prior_digest
from g2d2.priors.catalog import CATALOG, KnownFile
from g2d2.priors.digest import file_digest
from g2d2.priors.vq_diffusion.checking import check_folder
from g2d2.priors.vq_diffusion.family import VQDiffusion
from g2d2.priors.vq_diffusion.random_weights import random_components
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
        VQDiffusion().check(folder, known)
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
def test_a_cut_safetensors_is_named_with_its_size(folder, kept):
    path = folder / "transformer" / WEIGHTS
    content = path.read_bytes()
    path.write_bytes(content[:kept])
    refused(folder, f"transformer/{WEIGHTS} is cut short or not a safetensors file: {len(content[:kept])} bytes")


def test_garbage_and_appended_bytes_are_not_safetensors(folder):
    path = folder / "vqvae" / WEIGHTS
    content = path.read_bytes()
    path.write_bytes(content + b"!")
    refused(folder, f"vqvae/{WEIGHTS} is cut short or not a safetensors file: {len(content) + 1} bytes")
    path.write_bytes((20).to_bytes(8, "little") + b"x" * 40)
    refused(folder, f"vqvae/{WEIGHTS} is cut short or not a safetensors file: 48 bytes")


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


@pytest.mark.parametrize("component", ["text_encoder", "vqvae", "transformer"])
@pytest.mark.parametrize("names", [True, 3, "CLIPTextModel", [None], {}])
def test_odd_names_of_classes_are_as_good_as_none(folder, component, names):
    edit(
        folder / component / "config.json",
        architectures=names,
        **({} if component == "text_encoder" else {"_class_name": 3}),
    )
    check_folder(folder)
    with contextlib.suppress(InputError):  # nothing else may be raised
        load_prior(folder)


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
    tensors = load_file(folder / "vqvae" / WEIGHTS)
    (folder / "vqvae" / WEIGHTS).unlink()
    torch.save(tensors, folder / "vqvae" / "diffusion_pytorch_model.bin")
    check_folder(folder)
    tensors["quantize.embedding.weight"] = torch.zeros(7, 4)
    torch.save(tensors, folder / "vqvae" / "diffusion_pytorch_model.bin")
    refused(folder, "quantize.embedding.weight is 7x4 and must be 8x4")


def split(folder, component, stem="diffusion_pytorch_model"):
    """Weights in two parts with an index, as the libraries write large ones."""
    path = folder / component / f"{stem}.safetensors"
    tensors = load_file(path)
    path.unlink()
    parts = {f"{stem}-{part}.safetensors": sorted(tensors)[part::2] for part in (0, 1)}
    for file, names in parts.items():
        save_file({name: tensors[name] for name in names}, folder / component / file, metadata={"format": "pt"})
    index = folder / component / f"{stem}.safetensors.index.json"
    places = {name: file for file, names in parts.items() for name in names}
    index.write_text(json.dumps({"metadata": {"total_size": 0}, "weight_map": places}))
    return index


def test_weights_in_parts_load_like_whole_ones(whole, folder):
    split(folder, "vqvae")
    split(folder, "text_encoder", "model")
    parted, plain = load_prior(folder).components, load_prior(whole).components
    for name in ("vqvae", "text_encoder"):
        expected = getattr(plain, name).state_dict()
        assert all(torch.equal(value, expected[key]) for key, value in getattr(parted, name).state_dict().items())


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ([], "has no weight_map from tensors to files"),
        ({}, "has no weight_map from tensors to files"),
        ("none", "has no weight_map from tensors to files"),
        ({"a": 3}, "weight_map has 3 for tensor 'a'; it must name a .safetensors file of the same folder"),
        ({"a": "../other.safetensors"}, "weight_map has '../other.safetensors' for tensor 'a'"),
        ({"a": "weights.bin"}, "it must name a .safetensors file"),
        ({"a": "absent.safetensors"}, "absent.safetensors is missing"),
    ],
)
def test_an_index_that_names_no_files_is_one_sentence(folder, places, message):
    edit(split(folder, "vqvae"), weight_map=places)
    refused(folder, re.escape(message))
    with pytest.raises(InputError):
        load_prior(folder)
    if "missing" not in message:
        with pytest.raises(InputError):
            prior_digest(folder)


def test_an_index_must_agree_with_its_parts(folder):
    index = split(folder, "vqvae")
    places = json.loads(index.read_text())["weight_map"]
    name, file = next(iter(places.items()))
    edit(index, weight_map={key: value for key, value in places.items() if key != name})
    refused(folder, f"{index.name} and {file} beside it do not agree on whether that holds '{name}'")


@pytest.mark.parametrize(("component", "stem"), [("vqvae", "diffusion_pytorch_model"), ("text_encoder", "model")])
def test_a_tensor_missing_from_all_parts_is_named(folder, component, stem):
    index = split(folder, component, stem)
    places = json.loads(index.read_text())["weight_map"]
    name = next(name for name in sorted(places) if "norm" in name)  # the others are looked for by name
    path = index.parent / places.pop(name)
    save_file({key: value for key, value in load_file(path).items() if key != name}, path, metadata={"format": "pt"})
    edit(index, weight_map=places)
    with pytest.raises(InputError, match=f"{index.name} has no tensor '{name}'"):
        load_prior(folder)


def test_weights_both_whole_and_in_parts_are_ambiguous(folder):
    content = (folder / "vqvae" / WEIGHTS).read_bytes()
    split(folder, "vqvae")
    (folder / "vqvae" / WEIGHTS).write_bytes(content)
    refused(folder, "keep the one that is meant")


def test_published_sizes_and_digests_are_compared(folder):
    path = folder / "vqvae" / WEIGHTS
    size, base = path.stat().st_size, CATALOG["ithq"]

    def known(**changes):
        return replace(base, files=(KnownFile(f"vqvae/{WEIGHTS}", **{"size": size, **changes}),))

    check = VQDiffusion().check
    check(folder, known())
    check(folder, known(sha256=file_digest(path)))
    check(folder, known(size=round(size * 1.004), exact=False))
    assert check(folder, replace(base, files=(), digest=prior_digest(folder))) == "8x8 pixels, 4x4 tokens, 8 codes"
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


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("model_max_length", [16], "has model_max_length .*; it must be a whole number up to 16"),
        ("model_max_length", 2**62, "has model_max_length .*; it must be a whole number up to 16"),
        ("pad_token", "<|unheard|>", "they do not belong together"),
    ],
)
def test_a_tokenizer_that_does_not_fit_the_text_encoder_is_refused(folder, key, value, message):
    path = folder / "tokenizer" / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(InputError, match=message):
        load_prior(folder)
