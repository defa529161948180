"""Clips cut into windows of up to 196 frames and encoded once: what the masked transformer learns from."""

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from g2d2.priors.masked_motion.motion_vqvae import MotionVQVAE
from g2d2.training.loop import step_generator
from g2d2.training.masked_motion.captured_clips import SHORTEST, Clip
from operators.skeleton import LONGEST, MotionNormalisation
from operators.skeleton.joint_names import ROOT_SPEED, VELOCITIES, YAW_SPEED

_USUAL = 40
"""Frames of the shortest window that is cut from a longer clip."""
_WHOLE = 0.5
"""Share of windows that are as long as the clip and the prior allow."""


@dataclass(frozen=True)
class TokenWindows:
    """Encoded windows; places beyond a window's end hold 0."""

    tokens: Tensor  # (N, D) int16
    lengths: Tensor  # (N,): tokens of each window
    clips: Tensor  # (N,): index of the clip each was cut from

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def active(self) -> Tensor:
        """(N, D) bool"""
        return torch.arange(self.tokens.shape[1]) < self.lengths[:, None]


def cut(frames: Sequence[int], passes: int, seed: int, multiple: int = 4) -> list[tuple[int, int, int]]:
    """(clip, first frame, frames) of windows that follow each other through each clip, `passes` times."""
    windows = []
    for turn in range(passes):
        generator = step_generator(seed, "windows", turn)
        for clip, total in enumerate(frames):
            slack = min(_USUAL, max(0, total - _USUAL))
            start = int(torch.randint(slack + 1, (), generator=generator)) if turn else 0
            while (left := total - start) >= (SHORTEST if start == 0 else _USUAL):
                longest = min(LONGEST, left) // multiple * multiple
                size = longest
                if longest > _USUAL and float(torch.rand((), generator=generator)) > _WHOLE:
                    size = int(torch.randint(_USUAL, longest + 1, (), generator=generator)) // multiple * multiple
                windows.append((clip, start, size))
                start += size
    return windows


@torch.no_grad()
def encode_windows(
    vqvae: MotionVQVAE,
    normalisation: MotionNormalisation,
    clips: Sequence[Clip],
    windows: Sequence[tuple[int, int, int]],
    batch: int = 64,
) -> TokenWindows:
    """Tokens of every window, each at its own length."""
    tokens = torch.zeros((len(windows), vqvae.num_tokens), dtype=torch.int16)
    by_size = defaultdict(list)
    for index, (_, _, size) in enumerate(windows):
        by_size[size].append(index)
    for size, members in by_size.items():
        for rows in torch.tensor(members).split(batch):
            cuts = [windows[row] for row in rows.tolist()]
            features = torch.stack([clips[clip].features[start : start + size] for clip, start, _ in cuts]).float()
            latents = vqvae.encode(normalisation.normalise(features.to(vqvae.device)))
            tokens[rows, : size // vqvae.frames_per_token] = vqvae.nearest(latents).to("cpu", torch.int16)
    lengths = torch.tensor([size // vqvae.frames_per_token for _, _, size in windows])
    return TokenWindows(tokens, lengths, torch.tensor([clip for clip, _, _ in windows]))


def at_tempo(features: Tensor, tempo: float) -> Tensor:
    """A recording (F, 263) as if it had been done at another speed: fewer frames, larger steps, where it is above 1."""
    if tempo == 1:
        return features
    frames = max(2, round(len(features) / tempo))
    made = nn.functional.interpolate(features.float().T[None], frames, mode="linear", align_corners=True)[0].T
    rate = len(features) / frames
    for speeds in (YAW_SPEED, ROOT_SPEED, VELOCITIES):
        made[:, speeds] *= rate
    return made.to(features.dtype)


def joined(parts: Sequence[TokenWindows]) -> TokenWindows:
    """Windows of the same clips, one after the other."""
    return TokenWindows(
        *(torch.cat([getattr(part, name) for part in parts]) for name in ("tokens", "lengths", "clips"))
    )


def encoded_once(path: Path, encode: Callable[[], TokenWindows]) -> TokenWindows:
    """What `encode` gives, kept in a file."""
    if not path.exists():
        windows = encode()
        partial = path.with_suffix(".partial")
        save_file({"tokens": windows.tokens, "lengths": windows.lengths, "clips": windows.clips}, partial)
        os.replace(partial, path)
    return TokenWindows(**load_file(path))
