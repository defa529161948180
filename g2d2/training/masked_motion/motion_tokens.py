"""Stage two: the masked transformer over motion tokens, with its text encoder."""

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from g2d2.priors.masked_motion.motion_transformer import MotionTransformer
from g2d2.training.average import AveragedStage, averaged_copy, follow
from g2d2.training.descent import Descent
from g2d2.training.loop import step_generator
from g2d2.training.masked_motion.captured_clips import Clip
from g2d2.training.masked_motion.earlier_prior import take_weights
from g2d2.training.masked_motion.motion_recipe import MotionRecipe, MotionTransformerSettings
from g2d2.training.masked_motion.motion_windows import TokenWindows
from g2d2.training.masked_motion.motion_words import motion_text_encoder, motion_tokenizer
from g2d2.training.token_statistics import mean_nats
from g2d2.training.vq_diffusion.prompt_text import prompt_ids


class MotionTokenPrior(nn.Module):
    """What is trained together: the transformer over tokens and the text encoder."""

    def __init__(
        self, settings: MotionTransformerSettings, codebook: Tensor, tokens: int, words: tuple[str, ...]
    ) -> None:
        super().__init__()
        self.words = words
        self.tokenizer = motion_tokenizer(self.words, settings)
        self.text_encoder = motion_text_encoder(settings, self.tokenizer)
        self.transformer = MotionTransformer(
            codes=codebook.shape[0],
            code_width=codebook.shape[1],
            tokens=tokens,
            width=settings.width,
            heads=settings.heads,
            word_layers=settings.word_layers,
            layers=settings.layers,
            text_width=settings.text_width,
        )
        self.transformer.codebook.copy_(codebook)
        _initialise(self.transformer)
        for block in (*self.transformer.word_blocks, *self.transformer.blocks):
            block.dropout = settings.dropout

    def forward(self, tokens: Tensor, active: Tensor, ids: Tensor) -> Tensor:
        """Log probabilities of every token given those that are not masked, (B, D) -> (B, K, D)."""
        text = self.text_encoder(ids)
        logits: Tensor = self.transformer(tokens, active, text.text_embeds, text.last_hidden_state)
        return logits.float().log_softmax(1)


@torch.no_grad()
def _initialise(transformer: MotionTransformer) -> None:
    """Start every block as the identity, and embeddings of codes at the size of the places'."""
    for block in (*transformer.word_blocks, *transformer.blocks):
        for layer in (block.attention.out, block.contract):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
    spread = transformer.codebook.std().clamp(min=1e-6)
    transformer.special.mul_(spread)
    nn.init.normal_(transformer.embed.weight, std=(1 / spread / transformer.embed.in_features**0.5).item())
    nn.init.normal_(transformer.head.weight, std=0.02)


def ragged_masks(active: Tensor, generator: torch.Generator) -> Tensor:
    """Places to mask, (B, D) bool: cos(pi u / 2) of each row's active ones, u spread evenly over the batch."""
    rows = len(active)
    u = (torch.arange(rows) + torch.rand(rows, generator=generator)) / rows
    u = u[torch.randperm(rows, generator=generator)]
    counts = (active.sum(1) * torch.cos(math.pi / 2 * u)).ceil().clamp(min=1)
    order = torch.rand(active.shape, generator=generator).masked_fill(~active, 2.0)
    return order.argsort(1).argsort(1) < counts[:, None]


class PromptDraw:
    """Draws one wording of each window's clip or of its action alone, or the empty prompt."""

    def __init__(self, tokenizer: Any, clips: list[Clip], action_share: float) -> None:
        self.action_share = action_share
        told = [(clip.prompts, clip.actions or clip.prompts) for clip in clips]
        texts = sorted({prompt for whole, action in told for prompt in (*whole, *action)} | {""})
        place = {text: row for row, text in enumerate(texts)}
        self.ids = prompt_ids(tokenizer, tuple(texts))  # (P, L)
        most = max(len(prompts) for pair in told for prompts in pair)
        # a clip with fewer wordings repeats them
        self.wordings = torch.tensor(
            [[[place[prompts[n % len(prompts)]] for n in range(most)] for prompts in pair] for pair in told]
        )  # (clips, 2, wordings)
        self.empty = place[""]

    def __call__(self, clips: Tensor, dropped: Tensor, generator: torch.Generator) -> Tensor:
        """Ids of the prompts (B, L) for clips (B,); `dropped` rows (B,) have none."""
        choice = torch.randint(self.wordings.shape[2], (len(clips),), generator=generator)
        alone = (torch.rand(len(clips), generator=generator) < self.action_share).long()
        return self.ids[self.wordings[clips, alone, choice].masked_fill(dropped, self.empty)]


class MotionTransformerStage(AveragedStage[MotionTokenPrior]):
    """Cross entropy of masked tokens and, beside it, of those that are left, with averaged weights for export."""

    name = "transformer"

    def __init__(
        self,
        recipe: MotionRecipe,
        codebook: Tensor,
        train: tuple[TokenWindows, list[Clip]],
        held_out: tuple[TokenWindows, list[Clip]],
        words: tuple[str, ...],
        device: torch.device,
    ) -> None:
        self.settings, self.seed, self.bf16, self.device = recipe.transformer, recipe.seed, recipe.bf16, device
        self.windows, self.held_out = train[0], held_out[0]
        torch.manual_seed(recipe.seed)
        tokens = self.windows.tokens.shape[1]
        self.prior = MotionTokenPrior(self.settings, codebook, tokens, words).to(device)
        self.average = averaged_copy(self.prior)
        self.prompts = PromptDraw(self.prior.tokenizer, train[1], self.settings.action_share)
        self.held_out_prompts = PromptDraw(self.prior.tokenizer, held_out[1], action_share=1)
        s = self.settings
        self.descent = Descent(self.prior, _is_matrix, s.lr_matrices, s.lr_rest, weight_decay=s.weight_decay)

    def start_from(self, folder: Path) -> None:
        """Go on from a prior's weights, with the codes that the tokeniser has now."""
        for prior in (self.prior, self.average):
            codes = prior.transformer.codebook.clone()
            for name in ("transformer", "text_encoder"):
                take_weights(getattr(prior, name), folder, name)
            prior.transformer.codebook.copy_(codes)

    def step(self, index: int, fraction: float) -> dict[str, float]:
        s = self.settings
        generator = step_generator(self.seed, self.name, index)
        rows = torch.randint(len(self.windows), (s.batch,), generator=generator)
        dropped = torch.rand(s.batch, generator=generator) < s.prompt_dropout
        ids = self.prompts(self.windows.clips[rows], dropped, generator)
        active = self.windows.active[rows]
        masked = ragged_masks(active, generator)
        torch.manual_seed(generator.initial_seed())  # of what dropout leaves out
        nats, kept = self._nats(self.prior, self.windows.tokens[rows].long(), active, masked, ids)
        self.descent.step(nats + s.kept_weight * kept, fraction)
        follow(self.average, self.prior, s.ema_decay, index)
        return {"loss": nats.item(), "kept": kept.item()}

    @torch.no_grad()
    def report(self) -> dict[str, float]:
        """Held-out nats of the averaged weights per masked token and per token left, over all shares."""
        generator = step_generator(self.seed, "held out", 0)
        windows = self.held_out
        ids = self.held_out_prompts(windows.clips, torch.zeros(len(windows), dtype=torch.bool), generator)
        active = windows.active
        masked = ragged_masks(active, generator)
        nats, kept = self._nats(self.average, windows.tokens.long(), active, masked, ids)
        return {"held_out_nats": nats.item(), "held_out_kept": kept.item()}

    def _nats(
        self, prior: MotionTokenPrior, tokens: Tensor, active: Tensor, masked: Tensor, ids: Tensor
    ) -> tuple[Tensor, Tensor]:
        tokens, active, masked, ids = (part.to(self.device) for part in (tokens, active, masked, ids))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
            log_p = prior(tokens.masked_fill(masked, prior.transformer.mask_id), active, ids)
        return mean_nats(log_p, tokens, masked), mean_nats(log_p, tokens, active & ~masked)


def _is_matrix(name: str, weight: nn.Parameter) -> bool:
    """Matrices of attention and feed-forward layers."""
    inside = name.startswith(("transformer.blocks.", "transformer.word_blocks."))
    return inside and weight.ndim == 2
