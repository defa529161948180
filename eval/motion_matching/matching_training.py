"""`train_matching`: a matching network from captured clips, by what tells each clip's prompt from others in a batch."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import log_softmax
from torch.nn.utils.rnn import pad_sequence

from eval.embedding_sets import GROUP, r_precision
from eval.motion_matching.matching_card import DISTANCES, matching_card, matching_numbers
from eval.motion_matching.matching_network import STRIDE, MatchingNetwork, MatchingSettings
from eval.motion_matching.matching_recipe import MatchingRecipe
from eval.motion_matching.prompt_words import vocabulary
from g2d2.training.average import averaged_copy, follow
from g2d2.training.folders import replacing
from g2d2.training.loop import cosine_lr, run_stage, step_generator
from g2d2.training.masked_motion.captured_clips import SHORTEST, Clip, read_clips
from g2d2.training.run import claim, take_device, write_curve
from operators.skeleton import LONGEST, MotionNormalisation

NAME = "matching"


def train_matching(recipe: MatchingRecipe, log: Callable[[str], None] = print) -> Path:
    """Train, or go on where an earlier run stopped; return the exported folder."""
    claim(recipe)
    device = take_device(recipe)
    clips = read_clips(recipe.data)
    train, held_out = labelled(clips.train), labelled(clips.held_out)
    log(f"{len(train)} training clips with a prompt, mirror images among them, {len(held_out)} held out, on {device}")
    stage = MatchingStage(recipe, train, held_windows(held_out), device)

    def export() -> None:
        with replacing(recipe.exported) as fresh:
            stage.average.save(fresh)

    history = run_stage(stage, recipe.limits, recipe.out, on_save=export)
    write_curve(recipe.out, NAME, history)
    export()
    whole = first_windows(train)
    numbers = matching_numbers(recipe.exported, stage.held_out, whole)
    steps, subjects = int(history[-1]["step"]), len({clip.subject for clip in held_out})
    card = matching_card(recipe, numbers, steps, len(train), len(stage.held_out), subjects, len(whole))
    (recipe.exported / "README.md").write_text(card)
    log(f"exported to {recipe.exported}: {number_words(numbers)}")
    return recipe.exported


def measure_matching(folder: Path, data: Path, log: Callable[[str], None] = print) -> dict[str, float]:
    """What an exported network is worth on the people held out, without training one."""
    clips = read_clips(data)
    numbers = matching_numbers(folder, held_windows(labelled(clips.held_out)), first_windows(labelled(clips.train)))
    log(f"{folder}: {number_words(numbers)}")
    return numbers


def number_words(numbers: Mapping[str, float]) -> str:
    """Numbers with their names in a line, as the card rounds them."""
    return ", ".join(f"{name} {value:.{4 if name in DISTANCES else 3}f}" for name, value in numbers.items())


def labelled(clips: Sequence[Clip]) -> list[Clip]:
    """Clips whose label says what is done."""
    return [clip for clip in clips if clip.prompts != ("",)]


def first_windows(clips: Sequence[Clip]) -> list[Tensor]:
    """The first 196 frames of every clip that was captured."""
    return [clip.features[:LONGEST].float() for clip in clips if not clip.name.endswith("-mirrored")]


def held_windows(clips: Sequence[Clip]) -> list[tuple[Tensor, str]]:
    """Windows of up to 196 frames, one after the other through each clip, with the clip's prompt."""
    return [
        (part.float(), clip.prompts[min(1, len(clip.prompts) - 1)])
        for clip in clips
        for part in clip.features.split(LONGEST)
        if len(part) >= SHORTEST
    ]


class MatchingStage:
    """Softmax over a batch in both directions; all windows whose prompts have the same words count as right."""

    name = NAME

    def __init__(
        self, recipe: MatchingRecipe, train: list[Clip], held_out: list[tuple[Tensor, str]], device: torch.device
    ) -> None:
        s = self.settings = recipe.network
        self.seed, self.clips, self.held_out, self.device = recipe.seed, train, held_out, device
        torch.manual_seed(recipe.seed)
        sizes = {name: getattr(s, name) for name in ("width", "word_width", "embedding", "dropout")}
        words = vocabulary(clip.prompts for clip in train)
        self.network = MatchingNetwork(MatchingSettings(words=words, **sizes)).to(device)
        self.network.take(MotionNormalisation.from_clips([clip.features for clip in train]).to(device))
        self.average = averaged_copy(self.network)
        self.bags = [[self.network.ids(prompt) for prompt in clip.prompts] for clip in train]
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=s.lr, weight_decay=s.weight_decay)

    def step(self, index: int, fraction: float) -> dict[str, float]:
        s = self.settings
        generator = step_generator(self.seed, self.name, index)
        torch.manual_seed(int(torch.randint(2**31, (), generator=generator)))  # of dropout
        rows = torch.randint(len(self.clips), (s.batch,), generator=generator).tolist()
        windows = [self._window(self.clips[row].features, generator) for row in rows]
        bags = [self.bags[row][int(torch.randint(len(self.bags[row]), (), generator=generator))] for row in rows]
        kept = [
            [word for word in bag if float(torch.rand((), generator=generator)) >= s.word_dropout] or bag
            for bag in bags
        ]
        lengths = torch.tensor([len(window) for window in windows], device=self.device)
        features = pad_sequence(windows, batch_first=True).float().to(self.device)
        motions = self.network.embed_motions(features, lengths)
        logits = motions @ self.network.embed_words(kept).T / s.temperature  # (motions, texts)
        loss = matching_loss(logits, torch.tensor([[a == b for b in bags] for a in bags], device=self.device))
        for group in self.optimizer.param_groups:
            group["lr"] = s.lr * cosine_lr(fraction)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        follow(self.average, self.network, s.ema_decay, index)
        return {"loss": loss.item()}

    def _window(self, features: Tensor, generator: torch.Generator) -> Tensor:
        longest = min(LONGEST, len(features)) // STRIDE
        shortest = min(self.settings.shortest // STRIDE, longest)
        frames = STRIDE * int(torch.randint(shortest, longest + 1, (), generator=generator))
        start = int(torch.randint(len(features) - frames + 1, (), generator=generator))
        return features[start : start + frames]

    @torch.no_grad()
    def report(self) -> dict[str, float]:
        """Retrieval among 32 by the averaged weights, on people held out."""
        if len(self.held_out) < GROUP:
            return {}
        lengths = torch.tensor([len(window) for window, _ in self.held_out], device=self.device)
        padded = pad_sequence([window for window, _ in self.held_out], batch_first=True).to(self.device)
        motions = self.average.embed_motions(padded, lengths).cpu().numpy()
        texts = self.average.embed_words([self.average.ids(prompt) for _, prompt in self.held_out]).cpu().numpy()
        return {f"top_{top}": sum(r_precision(texts, motions, seed, top) for seed in range(5)) / 5 for top in (1, 3)}

    def state(self) -> dict[str, Any]:
        """Network, averaged weights and optimiser."""
        weights = {"network": self.network.state_dict(), "average": self.average.state_dict()}
        return weights | {"optimizer": self.optimizer.state_dict()}

    def load(self, state: dict[str, Any]) -> None:
        """Restore `state`."""
        for name, saved in state.items():
            getattr(self, name).load_state_dict(saved)


def matching_loss(logits: Tensor, same: Tensor) -> Tensor:
    """Mean cross entropy of both directions, with the mass shared by all that are right."""
    target = same / same.sum(1, keepdim=True)
    return -((target * log_softmax(logits, 1)).sum(1) + (target * log_softmax(logits, 0).T).sum(1)).mean() / 2
