"""A signal that is no picture, with all that it needs in one file: series of any length up to 32.

A token is four samples; the network's vocabulary has its mask at 99, and positions beyond a series' end do not count.
"""

import io
from typing import ClassVar

import numpy as np
import torch
from PIL import Image, ImageDraw
from torch import Tensor

from eval.metrics import RowMetric
from g2d2.priors.base import Condition, Discrete
from g2d2.schedule import cosine_mask_schedule
from operators import InputError, Operator, OperatorSettings, Signal

NAME = "tests.second_signal.series:Series"
LONGEST, SAMPLES, MASK = 32, 4, 99


class Series(Signal):
    """(length, 1) numbers in about [-2, 2], stored as float32."""

    name = NAME
    ragged: ClassVar[bool] = True

    def encode(self, x: Tensor) -> bytes:
        return x.detach().float().cpu().numpy().astype("<f4").tobytes()

    def decode(self, content: bytes, name: str) -> Tensor:
        if not content or len(content) % 4:
            raise InputError(f"{name}: {len(content)} bytes are no series of float32.")
        return torch.from_numpy(np.frombuffer(content, "<f4").copy()).view(-1, 1)

    def preview(self, x: Tensor) -> bytes:
        picture = Image.new("RGB", (96, 48), "white")
        points = [(3 * place, 24 - 10 * float(value)) for place, value in enumerate(x.flatten())]
        ImageDraw.Draw(picture).line(points, fill="black", width=1)
        buffer = io.BytesIO()
        picture.save(buffer, "PNG")
        return buffer.getvalue()


class LoudnessSettings(OperatorSettings):
    """How strongly loud samples are bent."""

    bend: float = 0.5


class Loudness(Operator):
    """y = x + bend * x |x|: differentiable, not linear, and it sees nothing beyond a series' end."""

    settings_model = LoudnessSettings
    signal: ClassVar[str] = NAME
    here: Tensor  # (R, length, 1)
    bend: Tensor  # (R, 1, 1)

    def __init__(self, settings: LoudnessSettings, x_shape: tuple[int, ...]) -> None:
        super().__init__(settings, x_shape)
        self.register_buffer("here", torch.ones(1, *x_shape), persistent=False)
        self.register_buffer("bend", torch.full((1, 1, 1), settings.bend), persistent=False)

    def _apply_forward(self, x: Tensor) -> Tensor:
        return (x + self.bend.to(x) * x * x.abs()) * self.here.to(x)

    def mask_noise(self, noise: Tensor) -> Tensor:
        return noise * self.here.to(noise)


CODES = torch.tensor([[a, a + b, a + b, a] for a in (-1.5, -0.5, 0.5, 1.5) for b in (0.0, 0.4)])  # (8, SAMPLES)


class Steady(Discrete):
    """Neighbouring tokens are alike; a token that is not masked stays."""

    signal = NAME
    x_shape = (LONGEST, 1)
    num_tokens = LONGEST // SAMPLES
    schedule = cosine_mask_schedule(steps=20, num_codes=len(CODES))

    @property
    def codebook(self) -> Tensor:
        return CODES.to(self.device)

    @property
    def mask_id(self) -> int:
        return MASK

    def condition(self, prompts, guidance, x_shapes=None) -> Condition:
        lengths = torch.tensor([-(-shape[0] // SAMPLES) for shape in x_shapes], device=self.device)
        active = torch.arange(self.num_tokens, device=self.device) < lengths[:, None]
        return Condition(torch.zeros(len(prompts), 1, 1, device=self.device), torch.tensor(guidance), active)

    def log_probs(self, z_t: Tensor, t: int, condition: Condition, top_p: float = 1.0) -> Tensor:
        # no code is K or above: a mask that the solver had left at K would fail here
        codes = z_t.masked_fill(z_t == MASK, -1).unsqueeze(1)  # (B, 1, D)
        kinds = torch.arange(len(CODES), device=self.device).view(1, -1, 1)
        near = sum((torch.roll(codes, shift, dims=2) == kinds).float() for shift in (-1, 1))
        return (near + 8.0 * (codes == kinds)).log_softmax(dim=1)

    def decode(self, embeddings: Tensor, active: Tensor | None = None) -> Tensor:
        x = embeddings if active is None else embeddings * active.unsqueeze(1)
        return x.mT.flatten(1).unsqueeze(-1)  # (B, D * SAMPLES, 1)

    def encode(self, x: Tensor) -> Tensor:
        return torch.cdist(x.view(len(x), -1, SAMPLES), CODES.to(x)).argmin(-1)


class Rmse(RowMetric):
    """Root mean squared error."""

    name, direction, unit, summary = "rmse", "lower", "", "root mean squared error"

    def rows(self, truth: Tensor, x: Tensor, scored) -> Tensor:
        return (truth - x).double().square().flatten(1).mean(1).sqrt()
