"""The embedded evaluator and how one is trained: on tiny clips, with answers known beforehand."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from eval.motion_evaluators import open_evaluator
from eval.motion_matching.__main__ import main
from eval.motion_matching.cmu_evaluator import EMBEDDED
from eval.motion_matching.matching_network import MatchingNetwork, MatchingSettings
from eval.motion_matching.matching_recipe import MatchingRecipe, MatchingTraining
from eval.motion_matching.matching_training import MatchingStage, matching_loss
from eval.motion_matching.prompt_words import prompt_words, vocabulary
from operators import InputError

DATA = Path(__file__).parents[4] / "shared" / "motion" / "cmu-joints.parquet"


@pytest.fixture(scope="module")
def cmu():
    return open_evaluator("cmu")


def test_a_motion_has_the_same_place_in_any_company(cmu):
    random = torch.Generator().manual_seed(0)
    scale = cmu.network.std
    clips = [cmu.network.mean + scale * torch.randn(frames, 263, generator=random) for frames in (20, 61, 196)]
    together, alone = cmu.motions(clips), np.concatenate([cmu.motions([clip]) for clip in clips])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    changed = [clips[0].clone()]
    changed[0][:, 259:] += 1  # contacts are not seen
    np.testing.assert_allclose(cmu.motions(changed), together[:1], atol=1e-5)


def test_wordings_of_one_prompt_are_one(cmu):
    same = cmu.texts(["a person walks", "walk", "Someone is walking.", "a person xyzzy walks"])
    np.testing.assert_allclose(same, same[:1].repeat(4, 0), atol=1e-6)
    assert np.isfinite(cmu.texts(["xyzzy"])).all()
    assert prompt_words("a person runs, then is running") == ("run",)
    assert vocabulary([("walk", "a person walks"), ("walk fast",)]) == ("walk",)


def test_the_package_keeps_it_small():
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) < 2.5e6


def test_the_loss_of_equal_scores_is_the_logarithm_of_their_count():
    assert matching_loss(torch.zeros(4, 4), torch.eye(4).bool()).item() == pytest.approx(math.log(4))
    sure = torch.full((4, 4), -50.0)
    same = torch.tensor([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]).bool()
    sure[same] = 50.0
    assert matching_loss(sure, same).item() == pytest.approx(math.log(2) / 2, abs=1e-4)


def test_a_saved_network_is_the_same_to_half_precision(tmp_path):
    torch.manual_seed(0)
    network = MatchingNetwork(MatchingSettings(words=("run", "walk"), width=8, word_width=4, embedding=4)).eval()
    network.save(tmp_path / "one")
    again = MatchingNetwork.load(tmp_path / "one")
    ids = [network.ids("a person walks"), network.ids("runs")]
    torch.testing.assert_close(again.embed_words(ids), network.embed_words(ids), atol=5e-3, rtol=0)
    (tmp_path / "one" / "model.safetensors").unlink()
    with pytest.raises(InputError, match="holds no matching network"):
        MatchingNetwork.load(tmp_path / "one")


class Moving:
    """A clip that goes one way."""

    def __init__(self, prompt, speed, seed):
        self.name, self.subject, self.prompts = prompt, seed, (prompt,)
        self.features = torch.randn(48, 263, generator=torch.Generator().manual_seed(seed)).half()
        self.features[:, 2] += speed


def test_training_teaches_which_words_go_with_which_motion(tmp_path):
    clips = [Moving(prompt, speed, seed) for seed in range(6) for prompt, speed in (("walk", 3.0), ("run", -3.0))]
    network = MatchingTraining(width=8, word_width=4, embedding=4, batch=12, lr=1e-2, ema_decay=0.5)
    stage = MatchingStage(MatchingRecipe(out=tmp_path, network=network), clips, [], torch.device("cpu"))
    losses = [stage.step(index, 0.3)["loss"] for index in range(25)]
    assert losses[-1] < losses[0]
    lengths = torch.tensor([40, 40])
    unseen = [Moving("walk", 3.0, 77).features[:40], Moving("run", -3.0, 78).features[:40]]
    motions = stage.average.embed_motions(torch.stack(unseen).float(), lengths)
    scores = motions @ stage.average.embed_words([stage.average.ids("a person walks"), stage.average.ids("runs")]).T
    assert scores.argmax(1).tolist() == [0, 1]


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the captured clips are not here")
def test_the_card_has_what_the_command_measures(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["matching", "--data", str(DATA), "--measure", str(EMBEDDED)])
    assert main() == 0
    numbers = dict(map(str.split, capsys.readouterr().out.partition(": ")[2].split(", ")))
    card = (EMBEDDED / "README.md").read_text()
    for row, line in (("own", "with their own prompts"), ("chance", "dealt to prompts at random")):
        assert f"{line} | {' | '.join(numbers[f'{row}_top{top}'] for top in (1, 2, 3))} |" in card
    assert f"is {numbers['halves']}, and" in card
