"""The evaluator that a user brings: read strictly from plain files, on random weights of the published layout."""

import pickle

import numpy as np
import pytest
import torch

from eval.motion_evaluators import load_evaluator, open_evaluator
from eval.motion_matching.t2m_evaluator import T2MEvaluator
from eval.motion_matching.t2m_words import part_of_speech
from operators import InputError

WORDS = ("unk", "sos", "eos", "a", "person", "walk")


def published_tensors():
    """Every tensor's name and shape in the published file, written down apart from the networks."""
    recurrent = {"gru.weight_ih_l0": (3, 1), "gru.weight_hh_l0": (3, 1), "gru.bias_ih_l0": (3,), "gru.bias_hh_l0": (3,)}

    def gru(seen, width):
        shapes = {"hidden": (2, 1, width), "input_emb.weight": (width, seen), "input_emb.bias": (width,)}
        for name, shape in recurrent.items():
            for ending in ("", "_reverse"):
                shapes[name + ending] = (3 * width, width) if len(shape) == 2 else (3 * width,)
        shapes |= {"output_net.0.weight": (width, 2 * width), "output_net.0.bias": (width,)}
        shapes |= {"output_net.1.weight": (width,), "output_net.1.bias": (width,)}
        return shapes | {"output_net.3.weight": (512, width), "output_net.3.bias": (512,)}

    movement = {"main.0.weight": (512, 259, 4), "main.0.bias": (512,), "main.3.weight": (512, 512, 4)}
    movement |= {"main.3.bias": (512,), "out_net.weight": (512, 512), "out_net.bias": (512,)}
    text = gru(300, 512) | {"pos_emb.weight": (300, 15), "pos_emb.bias": (300,)}
    return {"movement_encoder": movement, "motion_encoder": gru(512, 1024), "text_encoder": text}


@pytest.fixture(scope="module")
def saved():
    random = torch.Generator().manual_seed(0)
    parts = {
        name: {key: 0.05 * torch.randn(shape, generator=random) for key, shape in shapes.items()}
        for name, shapes in published_tensors().items()
    }
    return parts | {"epoch": 3, "opt_text_encoder": {"state": {}, "param_groups": []}}


@pytest.fixture(scope="module")
def weights(saved, tmp_path_factory):
    path = tmp_path_factory.mktemp("t2m") / "finest.tar"
    torch.save(saved, path)
    return path


@pytest.fixture
def folder(weights, tmp_path):
    (tmp_path / "finest.tar").symlink_to(weights)
    np.save(tmp_path / "mean.npy", np.full(263, 0.5))
    np.save(tmp_path / "std.npy", np.full(263, 2.0))
    np.save(tmp_path / "our_vab_data.npy", np.random.default_rng(0).normal(size=(len(WORDS), 300)))
    (tmp_path / "our_vab_idx.pkl").write_bytes(pickle.dumps({word: row for row, word in enumerate(WORDS)}))
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "000001.txt").write_text("a person walks.#a/DET person/NOUN walk/VERB#0.0#0.0\n")
    return tmp_path


def linear(x, part, name):
    return x @ part[f"{name}.weight"].T + part[f"{name}.bias"]


def embedded_slowly(part, steps):
    """A bidirectional GRU step by step, from its equations."""
    states = []
    for ending, order in (("", steps), ("_reverse", steps.flip(0))):
        h = part["hidden"][len(states), 0]
        for x in order:
            inner = x @ part[f"gru.weight_ih_l0{ending}"].T + part[f"gru.bias_ih_l0{ending}"]
            outer = h @ part[f"gru.weight_hh_l0{ending}"].T + part[f"gru.bias_hh_l0{ending}"]
            (r, z, n), (hr, hz, hn) = inner.chunk(3), outer.chunk(3)
            update = torch.sigmoid(z + hz)
            h = (1 - update) * torch.tanh(n + torch.sigmoid(r + hr) * hn) + update * h
        states.append(h)
    y = linear(torch.cat(states), part, "output_net.0")
    y = (y - y.mean()) / (y.var(correction=0) + 1e-5).sqrt() * part["output_net.1.weight"] + part["output_net.1.bias"]
    return linear(torch.nn.functional.leaky_relu(y, 0.2), part, "output_net.3")


def test_motions_as_published_at_any_length_in_any_company(folder, saved):
    random = torch.Generator().manual_seed(1)
    clips = [torch.randn(frames, 263, generator=random) for frames in (22, 196)]
    found = T2MEvaluator(folder).motions(clips)
    part = saved["movement_encoder"]
    for clip, own in zip(clips, found, strict=True):
        whole = len(clip) // 4 * 4
        z = torch.zeros(196, 259)
        z[:whole] = ((clip - 0.5) / 2.0)[:whole, :259]
        x = z.T[None]
        for name in ("main.0", "main.3"):
            x = torch.nn.functional.conv1d(x, part[f"{name}.weight"], part[f"{name}.bias"], stride=2, padding=1)
            x = torch.nn.functional.leaky_relu(x, 0.2)
        steps = linear(linear(x[0].T, part, "out_net")[: len(clip) // 4], saved["motion_encoder"], "input_emb")
        np.testing.assert_allclose(own, embedded_slowly(saved["motion_encoder"], steps), rtol=0, atol=1e-5)


def test_captions_as_published(folder, saved):
    evaluator, part = open_evaluator(f"t2m:{folder}"), saved["text_encoder"]
    vectors = torch.from_numpy(np.load(folder / "our_vab_data.npy")).float()
    rows, parts = [1, 3, 4, 5, 2], [14, 2, 1, 12, 14]  # sos a person walk eos, whose own part is that of actions
    x = vectors[rows] + linear(torch.eye(15)[parts], part, "pos_emb")
    expected = embedded_slowly(part, linear(x, part, "input_emb"))
    found = evaluator.texts(["a person walks.", "a/DET person/NOUN walk/VERB", "a/DET"])
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-6)
    assert part_of_speech("walk", "VERB") == 12
    assert part_of_speech("so", "SCONJ") == 14
    with pytest.raises(InputError, match="t2m needs parts of speech, and 'a person hops' is no caption"):
        evaluator.texts(["a person hops"])


def test_nothing_but_plain_tensors_of_the_published_layout(folder):
    (folder / "finest.tar").unlink()
    zero = torch.zeros(())  # which takes no room in a file, however far it is expanded
    saved = {
        name: {key: zero.expand(shape) for key, shape in shapes.items()} for name, shapes in published_tensors().items()
    }

    def refusal(change):
        torch.save(change, folder / "finest.tar")
        with pytest.raises(InputError) as refused:
            T2MEvaluator(folder)
        return str(refused.value)

    assert "has no text_encoder" in refusal({name: saved[name] for name in saved if name != "text_encoder"})
    motion = saved["motion_encoder"]
    assert "has another tensor motion_encoder.more" in refusal(
        saved | {"motion_encoder": motion | {"more": torch.ones(1)}}
    )
    assert "motion_encoder.hidden is (2,): it must be (2, 1, 1024)" in refusal(
        saved | {"motion_encoder": motion | {"hidden": torch.ones(2)}}
    )
    assert "nothing in it was executed" in refusal(saved | {"opt": WithCode()})
    (folder / "finest.tar").write_bytes(b"PK cut short")
    with pytest.raises(InputError, match=r"finest\.tar"):
        T2MEvaluator(folder)


class WithCode:
    def __reduce__(self):
        return print, ("executed",)


def test_tables_of_words_are_read_without_being_executed(folder, capsys):
    (folder / "our_vab_idx.pkl").write_bytes(pickle.dumps({"unk": WithCode()}))
    with pytest.raises(InputError, match=r"our_vab_idx\.pkl cannot be read as a table of words"):
        T2MEvaluator(folder).texts(["a/DET"])
    assert "executed" not in capsys.readouterr().out


def test_without_a_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("G2D2_WEIGHTS", raising=False)
    assert "t2m is brought by the user" in load_evaluator("t2m").reason
    monkeypatch.setenv("G2D2_WEIGHTS", str(tmp_path))
    assert "has no finest.tar" in load_evaluator("t2m").reason
