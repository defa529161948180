"""Folders of priors with files missing, renamed, cut short or changed: refused, or as good as their digest says."""

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from tests.fuzz.cases import amounts, each_case
from tests.fuzz.mutations import spoiled, spoiled_bytes
from tests.fuzz.odd_pictures import OPERATOR, picture
from tests.fuzz.oracle import g2d2
from tests.fuzz.tampering import files


@st.composite
def faults(draw, prior):
    """A way to spoil the folder: file, and its new content; None deletes it, a name renames it."""
    name = draw(st.sampled_from(files(prior)))
    path = Path(prior, name)
    way = draw(st.sampled_from(["delete", "rename", "bytes", "tensor", "tensor", "config", "config", "index"]))
    if way == "tensor" and not name.endswith(".safetensors"):
        name = draw(st.sampled_from([name for name in files(prior) if name.endswith(".safetensors")]))
        path = Path(prior, name)
    if way == "tensor":
        key = draw(st.sampled_from(sorted(load_file(path))))
        return name, ("tensor", key, draw(st.sampled_from(["missing", "flat", "extra", "half", "nan", "empty"])))
    if way == "config":
        name = draw(st.sampled_from([name for name in files(prior) if name.endswith(".json")]))
        tree = json.loads(Path(prior, name).read_text())
        return name, ("bytes", json.dumps(draw(spoiled(tree)), default=str, skipkeys=True).encode(), None)
    if way == "index":
        maps = [{}, [], None, {"weight_map": {}}, {"weight_map": []}, {"weight_map": {"a": 1}},
                {"weight_map": {"a": "../../x"}}, {"weight_map": {"a": "nowhere.safetensors"}}]  # fmt: skip
        weights = draw(st.sampled_from([name for name in files(prior) if name.endswith(".safetensors")]))
        return f"{weights}.index.json", ("bytes", json.dumps(draw(st.sampled_from(maps))).encode(), None)
    if way == "bytes":
        return name, ("bytes", draw(spoiled_bytes(path.read_bytes())), None)
    return name, (way, None, None)


def spoil(prior, folder, fault):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(prior, folder, copy_function=os.link)
    name, (way, what, how) = fault
    path = folder / name
    if way == "tensor":
        content = load_file(path)
        tensor = content.pop(what)
        put = {"flat": tensor.flatten(), "half": tensor.half() if tensor.is_floating_point() else tensor.int(),
               "nan": tensor * float("nan"), "empty": tensor.new_zeros(0)}  # fmt: skip
        content |= {f"{what}.more": tensor, what: tensor} if how == "extra" else {what: put[how]} if how in put else {}
        path.unlink()
        save_file({key: value.contiguous().clone() for key, value in content.items()}, path, {"format": "pt"})
    elif way == "rename":
        path.rename(path.with_name(f"{path.name}.old"))
    else:
        path.unlink(missing_ok=True)
        if way == "bytes":
            path.write_bytes(what)


@pytest.fixture
def solve(tmp_path):
    """Restore one picture with a prior; its pixels, or None where it was refused."""
    (tmp_path / "a.png").write_bytes(picture())

    def run(prior):
        words = ["--prior", prior, "--out", "solved", "--again", *OPERATOR, "steps=2", "iterations=1", "guidance=1"]
        shutil.rmtree("solved", ignore_errors=True)
        outcome = g2d2("solve", "a.png", *words)
        return Path("solved", "a.png").read_bytes() if outcome.code == 0 else None

    return run


@amounts(quick=30, slow=800)
def test_spoiled_folders(examples, tiny_prior, tmp_path, solve):
    folder, whole = tmp_path / "spoiled", solve(tiny_prior)
    digest = json.loads(g2d2("prior", "info", tiny_prior, "--json").out)["digest"]

    def check(fault):
        spoil(tiny_prior, folder, fault)
        checked = g2d2("prior", "check", folder)
        g2d2("prior", "info", folder)
        first = solve(folder)
        if first is None:
            return
        assert checked.code == 0, f"it was refused and works: {checked}"
        assert first == solve(folder), "what it gives is left to chance"
        if digest in checked.out:
            assert first == whole

    config = json.loads(Path(tiny_prior, "tokenizer", "tokenizer_config.json").read_text())
    odd = [config | {"pad_token": "/proc/x"}, config | {"model_max_length": [16]}, config | {"model_max_length": 2**62}]
    also = [("tokenizer/tokenizer_config.json", ("bytes", json.dumps(one).encode(), None)) for one in odd]
    weights = "transformer/diffusion_pytorch_model.safetensors"
    also.append((weights, ("tensor", "transformer_blocks.0.attn1.to_q.weight", "missing")))
    each_case(examples, faults(tiny_prior), check, also)
