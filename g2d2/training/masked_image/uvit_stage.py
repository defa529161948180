"""The training stage of the masked prior: cross entropy of tokens under aMUSEd's cosine masking."""

import math
from pathlib import Path
from typing import Any

import torch
from diffusers import UVit2DModel
from torch import Tensor, nn
from transformers import CLIPTextConfig, CLIPTextModelWithProjection

from g2d2.priors.vq_diffusion.components import load_component
from g2d2.training.attention import plain_attention
from g2d2.training.average import AveragedStage, averaged_copy, follow
from g2d2.training.data import PROMPTS, SIDE
from g2d2.training.descent import Descent
from g2d2.training.loop import step_generator
from g2d2.training.masked_image.masked_settings import MaskedRecipe, UViTSettings
from g2d2.training.token_statistics import mean_nats
from g2d2.training.vq_diffusion.prompt_text import prompt_ids

MICRO_CONDITIONS = (SIDE, SIDE, 0, 0, 6)
"""Width, height, crop and score that aMUSEd's pipeline passes for whole images of this size."""
_MICRO_WIDTH = 16


class MaskedPrior(nn.Module):
    """What is trained together: the transformer over tokens and the text encoder, which starts from another prior's."""

    ids: Tensor

    def __init__(self, settings: UViTSettings, codes: int, side: int, prompts_from: Path) -> None:
        super().__init__()
        self.tokenizer = load_component(prompts_from, "tokenizer")
        self.text_encoder = _projecting(load_component(prompts_from, "text_encoder"))
        text_width, width = self.text_encoder.config.hidden_size, settings.heads * settings.head_dim
        self.transformer = UVit2DModel(
            hidden_size=width,
            cond_embed_dim=text_width,
            micro_cond_encode_dim=_MICRO_WIDTH,
            micro_cond_embed_dim=_MICRO_WIDTH * len(MICRO_CONDITIONS),
            encoder_hidden_size=text_width,
            vocab_size=codes + settings.spare_ids,
            codebook_size=codes,
            in_channels=width,
            block_out_channels=width,
            num_res_blocks=1,
            block_num_heads=settings.heads,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            intermediate_size=round(settings.feed_forward * width),
            sample_size=side,
        )
        self.mask_id = codes + settings.spare_ids - 1
        self.register_buffer("ids", prompt_ids(self.tokenizer, (*PROMPTS, "")), persistent=False)  # (11, L)
        _initialise(self.transformer)

    def forward(self, tokens: Tensor, labels: Tensor, dropped: Tensor) -> Tensor:
        """Log probabilities of every token given those that are not masked, (B, D) -> (B, K, D)."""
        states = self.text_encoder(self.ids, output_hidden_states=True)
        rows = torch.where(dropped, len(PROMPTS), labels)
        side = self.transformer.config.sample_size
        micro = torch.tensor(MICRO_CONDITIONS, dtype=torch.float32, device=tokens.device).expand(len(tokens), -1)
        logits: Tensor = self.transformer(
            tokens.view(-1, side, side),
            encoder_hidden_states=states.hidden_states[-2][rows],
            pooled_text_emb=states.text_embeds[rows],
            micro_conds=micro,
        )
        return logits.flatten(2).float().log_softmax(1)


def _projecting(encoder: Any) -> CLIPTextModelWithProjection:
    """The same text encoder with a projection of its pooled state, the identity to begin with."""
    names = CLIPTextConfig().to_dict().keys() - {"architectures", "transformers_version", "model_type", "dtype"}
    settings = {name: value for name, value in encoder.config.to_dict().items() if name in names}
    projecting = CLIPTextModelWithProjection(
        CLIPTextConfig(**settings | {"projection_dim": encoder.config.hidden_size})
    )
    projecting.text_model.load_state_dict(encoder.state_dict())
    nn.init.eye_(projecting.text_projection.weight)
    return projecting.train()


def _initialise(transformer: UVit2DModel) -> None:
    """Start every block as the identity and every adaptive norm as a plain one."""
    zeroed = ("to_out.0", "ff.net.2", "channelwise_linear_2", "cond_embeds_mapper", ".linear")
    for name, module in transformer.named_modules():
        if name.endswith(zeroed):
            nn.init.zeros_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    nn.init.normal_(transformer.embed.embeddings.weight, std=0.3)


def cosine_masks(shape: torch.Size, generator: torch.Generator) -> Tensor:
    """Places to mask, (B, D) bool: cos(pi u / 2) of each row with u spread evenly over the batch, one at least."""
    rows, places = shape
    u = (torch.arange(rows) + torch.rand(rows, generator=generator)) / rows
    counts = (places * torch.cos(math.pi / 2 * u)).ceil().clamp(min=1)
    return torch.rand(shape, generator=generator).argsort(1) < counts[:, None]


class UViTStage(AveragedStage[MaskedPrior]):
    """Cross entropy of masked tokens and, beside it, of those that are left, with averaged weights for export.

    aMUSEd trains on the masked alone; a solver asks the prior about every token.
    """

    name = "uvit"

    def __init__(
        self,
        recipe: MaskedRecipe,
        tokens: Tensor,  # (F, N, D): flips, images, positions
        labels: Tensor,  # (N,)
        held_out: tuple[Tensor, Tensor],  # (M, D), (M,)
        codes: int,
        device: torch.device,
    ) -> None:
        self.settings, self.seed, self.bf16 = recipe.uvit, recipe.seed, recipe.bf16
        self.tokens, self.labels, self.held_out, self.device = tokens, labels, held_out, device
        torch.manual_seed(recipe.seed)
        self.prior = MaskedPrior(self.settings, codes, math.isqrt(tokens.shape[-1]), recipe.tokeniser).to(device)
        plain_attention(self.prior.transformer, device)
        self.average = averaged_copy(self.prior)
        s = self.settings
        self.descent = Descent(self.prior, _is_matrix, s.lr_matrices, s.lr_rest, weight_decay=s.weight_decay)

    def step(self, index: int, fraction: float) -> dict[str, float]:
        s = self.settings
        generator = step_generator(self.seed, self.name, index)
        rows = torch.randint(len(self.labels), (s.batch,), generator=generator)
        flips = torch.randint(len(self.tokens), (s.batch,), generator=generator)
        tokens = self.tokens[flips, rows].long()  # (B, D)
        dropped = torch.rand(s.batch, generator=generator) < s.prompt_dropout
        masked, kept = self._nats(self.prior, tokens, cosine_masks(tokens.shape, generator), self.labels[rows], dropped)
        self.descent.step(masked + s.kept_weight * kept, fraction)
        follow(self.average, self.prior, s.ema_decay, index)
        return {"loss": masked.item(), "kept": kept.item()}

    @torch.no_grad()
    def report(self) -> dict[str, float]:
        """Held-out nats of the averaged weights per masked token and per token left, over all shares."""
        tokens, labels = self.held_out
        where = cosine_masks(tokens.shape, step_generator(self.seed, "held out", 0))
        dropped = torch.zeros(len(tokens), dtype=torch.bool)
        masked, kept = self._nats(self.average, tokens, where, labels, dropped)
        return {"held_out_nats": masked.item(), "held_out_kept": kept.item()}

    def _nats(
        self, prior: MaskedPrior, tokens: Tensor, masked: Tensor, labels: Tensor, dropped: Tensor
    ) -> tuple[Tensor, Tensor]:
        tokens, masked, labels, dropped = (part.to(self.device) for part in (tokens, masked, labels, dropped))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
            log_p = prior(tokens.masked_fill(masked, prior.mask_id), labels, dropped)
        return mean_nats(log_p, tokens, masked), mean_nats(log_p, tokens, ~masked)


def _is_matrix(name: str, weight: nn.Parameter) -> bool:
    """Matrices of attention and feed-forward layers."""
    inside = name.startswith(("transformer.transformer_layers.", "transformer.down_block.", "transformer.up_block."))
    return inside and weight.ndim == 2 and ".norm" not in name and "cond_embeds_mapper" not in name
