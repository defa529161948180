"""Stage one: the tokeniser of motion, trained by reconstruction of features, joints, feet and the root's path."""

from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from g2d2.priors.masked_motion.motion_vqvae import MotionVQVAE
from g2d2.training.loop import cosine_lr, step_generator
from g2d2.training.masked_motion.captured_clips import Clip
from g2d2.training.masked_motion.earlier_prior import take_weights
from g2d2.training.masked_motion.motion_errors import (
    foot_height_errors,
    joint_errors,
    path_errors,
    resting_speed_errors,
)
from g2d2.training.masked_motion.motion_recipe import MotionRecipe, MotionVQVAESettings
from g2d2.training.token_statistics import code_usage
from g2d2.training.vq_diffusion.codebook import MovingCodebook, QuantisedStage, kmeans, nearest
from operators.errors import InputError
from operators.skeleton import FEATURES, LONGEST, MotionNormalisation
from operators.skeleton.joint_names import POSITIONS, ROOT_HEIGHT, ROTATIONS

_KMEANS_WINDOWS = 512


def build_motion_vqvae(settings: MotionVQVAESettings) -> MotionVQVAE:
    """An untrained tokeniser."""
    vqvae: MotionVQVAE = MotionVQVAE(
        features=FEATURES,
        width=settings.width,
        depth=settings.depth,
        codes=settings.codes,
        code_width=settings.code_width,
        longest=LONGEST,
    )
    return vqvae


class WindowDraw:
    """Draws windows of one length, every frame of the clips alike."""

    def __init__(self, clips: list[Clip], window: int) -> None:
        long_enough = [clip.features for clip in clips if len(clip.features) >= window]
        if not long_enough:
            raise InputError(f"data: no clip has {window} frames, the window that the tokeniser is trained on.")
        self.frames = torch.cat(long_enough)  # (N, 263)
        sizes = torch.tensor([len(clip) for clip in long_enough])
        ends = sizes.cumsum(0)
        starts = [torch.arange(end - size, end - window + 1) for end, size in zip(ends, sizes, strict=True)]
        self.starts, self.window = torch.cat(starts), window

    def __call__(self, count: int, generator: torch.Generator) -> Tensor:
        """(count, window, 263) float32"""
        starts = self.starts[torch.randint(len(self.starts), (count,), generator=generator)]
        return self.frames[starts[:, None] + torch.arange(self.window)].float()


class MotionVQVAEStage(QuantisedStage[MotionVQVAE]):
    """Trains without quantisation first, then with a k-means codebook kept by moving averages."""

    name = "vqvae"

    def __init__(
        self,
        recipe: MotionRecipe,
        draw: WindowDraw,
        held_out: Tensor,  # (M, F, 263): windows of the longest length
        normalisation: MotionNormalisation,
        device: torch.device,
    ) -> None:
        self.settings, self.seed, self.bf16 = recipe.vqvae, recipe.seed, recipe.bf16
        self.draw, self.held_out, self.device = draw, held_out, device
        self.normalisation = normalisation.to(device)
        torch.manual_seed(recipe.seed)
        self.vqvae = build_motion_vqvae(self.settings).to(device)
        self.codebook = MovingCodebook(self.vqvae.codebook, self.settings.code_decay, self.settings.dead_share)
        self.quantised = False
        self.optimizer = torch.optim.AdamW(
            self.vqvae.parameters(), lr=self.settings.lr, betas=(0.9, 0.95), weight_decay=0
        )
        self.weights = feature_weights(self.settings).to(device)

    def start_from(self, folder: Path) -> None:
        """Go on from the tokeniser of a prior, which must have the recipe's shape."""
        take_weights(self.vqvae, folder, "vqvae")
        self._keep_codebook(step_generator(self.seed, self.name, 0))

    def step(self, index: int, fraction: float) -> dict[str, float]:
        s = self.settings
        generator = step_generator(self.seed, self.name, index)
        if not self.quantised and fraction >= s.unquantised:
            self._start_codebook(generator)
        features = self.draw(s.batch, generator).to(self.device)
        z = self.normalisation.normalise(features)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
            latents = self.vqvae.encode(z)  # (B, C, D)
        latents = latents.float()
        numbers = {}
        commitment = torch.zeros((), device=self.device)
        if self.quantised:
            flat = latents.mT.reshape(-1, s.code_width)  # (B*D, C)
            picks = nearest(flat.detach(), self.codebook.codes)
            quantised = self.codebook.codes[picks].view(*latents.mT.shape).mT
            commitment = F.mse_loss(latents, quantised)
            latents = latents + (quantised - latents).detach()
            restart = fraction < s.restarts_until
            numbers["restarts"] = float(self.codebook.update(flat.detach(), picks, generator, restart=restart))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
            made = self.vqvae.decode(latents)
        made = made.float()
        restored = self.normalisation.restore(made)
        errors = F.smooth_l1_loss(made, z, reduction="none").mean((0, 1))  # (263,)
        path, joints = path_errors(restored, features).mean(), joint_errors(restored, features).mean()
        feet = foot_height_errors(restored, features).mean()
        slides = resting_speed_errors(restored, features).mean()
        loss = (errors * self.weights).sum() + s.path_weight * path + s.joint_weight * joints
        loss = loss + s.foot_height_weight * feet + s.foot_speed_weight * slides
        self._descend(loss + s.commitment * commitment, fraction)
        return {"loss": loss.item(), "path": path.item(), "joints": joints.item(), "feet": feet.item(), **numbers}

    @torch.no_grad()
    def report(self) -> dict[str, float]:
        """Held-out errors of whole windows in millimetres, and how far the root is off after their last frame."""
        if not self.quantised:
            return {}
        return self.measure(self.held_out)

    @torch.no_grad()
    def measure(self, windows: Tensor) -> dict[str, float]:
        made, tokens = reconstruct(self.vqvae, self.normalisation, windows)
        usage = code_usage(tokens, self.settings.codes)
        return {
            "held_out_mm": 1000 * joint_errors(made, windows).mean().item(),
            "held_out_path": path_errors(made, windows).mean().item(),
            "held_out_drift": path_errors(made, windows)[:, -1].mean().item(),
            "held_out_feet_mm": 1000 * foot_height_errors(made, windows).mean().item(),
            "held_out_slide": resting_speed_errors(made, windows).mean().item(),
            "codes_used": float(usage["used"]),
            "code_perplexity": usage["perplexity"],
        }

    def _descend(self, loss: Tensor, fraction: float) -> None:
        self.optimizer.param_groups[0]["lr"] = self.settings.lr * cosine_lr(fraction)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.vqvae.parameters(), 1.0)
        self.optimizer.step()

    def _start_codebook(self, generator: torch.Generator) -> None:
        points = self._some_latents(generator)
        self.codebook.start(kmeans(points, self.settings.codes, generator), points)
        self.quantised = True

    def _keep_codebook(self, generator: torch.Generator) -> None:
        self.codebook.start(self.vqvae.codebook.clone(), self._some_latents(generator))
        self.quantised = True

    @torch.no_grad()
    def _some_latents(self, generator: torch.Generator) -> Tensor:
        windows = self.draw(_KMEANS_WINDOWS, generator).split(64)
        latents = [self.vqvae.encode(self.normalisation.normalise(some.to(self.device))) for some in windows]
        return torch.cat(latents).mT.reshape(-1, self.settings.code_width)


def feature_weights(settings: MotionVQVAESettings) -> Tensor:
    """Weight of each feature; those of the positions sum up to 1. (263,)"""
    weights = torch.ones(FEATURES)
    weights[: ROOT_HEIGHT.stop] = settings.root_weight
    weights[ROTATIONS] = settings.rotation_weight
    return weights / (POSITIONS.stop - POSITIONS.start)


@torch.no_grad()
def reconstruct(
    vqvae: MotionVQVAE, normalisation: MotionNormalisation, windows: Tensor, batch: int = 16
) -> tuple[Tensor, Tensor]:
    """What the tokeniser makes of windows (M, F, 263) of one length, with their tokens. (M, F, 263), (M, D)"""
    made, tokens = [], []
    for some in windows.split(batch):
        picks = vqvae.nearest(vqvae.encode(normalisation.normalise(some.to(vqvae.device))))
        made.append(normalisation.restore(vqvae.decode(vqvae.codebook[picks].mT)).cpu())
        tokens.append(picks.cpu())
    return torch.cat(made), torch.cat(tokens)
