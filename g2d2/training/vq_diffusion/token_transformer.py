"""Stage two: the VQ-Diffusion prior over tokens, with its text encoder and unconditional embedding."""

from pathlib import Path
from typing import Any

import torch
from diffusers import Transformer2DModel, VQDiffusionScheduler
from diffusers.pipelines.deprecated.vq_diffusion.pipeline_vq_diffusion import (
    LearnedClassifierFreeSamplingEmbeddings,
)
from torch import Tensor, nn

from g2d2.priors.vq_diffusion.components import load_component
from g2d2.training.average import averaged_copy, follow
from g2d2.training.data import PROMPTS
from g2d2.training.descent import Descent
from g2d2.training.loop import step_generator
from g2d2.training.token_statistics import mean_nats
from g2d2.training.vq_diffusion.prompt_text import build_text_encoder, build_tokenizer, encode_ids, prompt_ids
from g2d2.training.vq_diffusion.token_noise import accept_row_timesteps, corrupt, spread_timesteps
from g2d2.training.vq_diffusion.vq_recipe import TransformerSettings, VQDiffusionRecipe
from operators.errors import InputError

_LEARNT = {
    "transformer": "transformer",
    "text_encoder": "text_encoder",
    "learned_classifier_free_sampling_embeddings": "unconditional",
}
"""Components of an exported prior, and where they are in `TokenPrior`."""


class TokenPrior(nn.Module):
    """What is trained together: transformer, text encoder and unconditional embedding."""

    ids: Tensor

    def __init__(self, settings: TransformerSettings, codes: int, side: int) -> None:
        super().__init__()
        self.tokenizer = build_tokenizer(PROMPTS, settings.text_length)
        self.text_encoder = build_text_encoder(settings, self.tokenizer)
        self.unconditional = LearnedClassifierFreeSamplingEmbeddings(
            learnable=True, hidden_size=settings.text_width, length=settings.text_length
        )
        self.transformer = Transformer2DModel(
            num_attention_heads=settings.heads,
            attention_head_dim=settings.head_dim,
            num_layers=settings.layers,
            sample_size=side,
            num_vector_embeds=codes + 1,
            num_embeds_ada_norm=settings.timesteps,
            cross_attention_dim=settings.text_width,
            activation_fn="gelu-approximate",
            attention_bias=True,
            norm_type="ada_norm",
        )
        self.register_buffer("ids", prompt_ids(self.tokenizer, PROMPTS), persistent=False)  # (10, L)
        _initialise(self.transformer)
        nn.init.normal_(self.unconditional.embeddings, std=settings.text_width**-0.5)
        accept_row_timesteps(self.transformer)

    def conditions(self, labels: Tensor, dropped: Tensor) -> Tensor:
        """Prompt embeddings of labels, the unconditional one where dropped. (B,), (B,) -> (B, L, W)."""
        # Ten prompts serve every row: the text encoder's cost does not grow with the batch.
        prompts = encode_ids(self.text_encoder, self.ids)[labels]
        return torch.where(dropped[:, None, None], self.unconditional.embeddings, prompts)

    def forward(self, z_t: Tensor, t: Tensor, labels: Tensor, dropped: Tensor) -> Tensor:
        """log p(z_0 | z_t), (B, D) -> (B, K, D)."""
        condition = self.conditions(labels, dropped)
        output: Tensor = self.transformer(z_t, encoder_hidden_states=condition, timestep=t).sample
        return output


def _initialise(transformer: Transformer2DModel) -> None:
    """Start every block as the identity and every adaptive norm as a plain one."""
    for name, module in transformer.named_modules():
        if name.endswith(("to_out.0", "ff.net.2", "norm1.linear", "norm2.linear", "norm3.linear")):
            nn.init.zeros_(module.weight)
            nn.init.zeros_(module.bias)
    embedding = transformer.latent_image_embedding
    for table in (embedding.emb, embedding.height_emb, embedding.width_emb):
        nn.init.normal_(table.weight, std=0.3)


class TransformerStage:
    """Cross entropy of z_0 with averaged weights for export: on tokens that noise changed, and on those it kept.

    Sampling hardly asks what the network says of a token that is not masked, but a solver does: its divergence from
    the prior runs over every token. VQ-Diffusion's own loss covers them too.
    """

    name = "transformer"

    def __init__(
        self,
        recipe: VQDiffusionRecipe,
        tokens: Tensor,  # (F, N, D): flips, images, positions
        labels: Tensor,  # (N,)
        held_out: tuple[Tensor, Tensor],  # (M, D), (M,)
        side: int,
        device: torch.device,
    ) -> None:
        self.settings, self.seed, self.bf16 = recipe.transformer, recipe.seed, recipe.bf16
        self.tokens, self.labels, self.held_out, self.device = tokens, labels, held_out, device
        self.scheduler = VQDiffusionScheduler(
            num_vec_classes=recipe.vqvae.codes + 1, num_train_timesteps=self.settings.timesteps
        )
        torch.manual_seed(recipe.seed)
        self.prior = TokenPrior(self.settings, recipe.vqvae.codes, side).to(device)
        self.average = averaged_copy(self.prior)
        s = self.settings
        self.descent = Descent(self.prior, _is_matrix, s.lr_matrices, s.lr_rest, weight_decay=s.weight_decay)

    def start_from(self, folder: Path) -> None:
        """Take over a prior's weights; it must have the recipe's shape."""
        for name, attribute in _LEARNT.items():
            learnt = load_component(folder, name).state_dict()
            for prior in (self.prior, self.average):
                try:
                    getattr(prior, attribute).load_state_dict(learnt)
                except RuntimeError:
                    raise InputError(f"start: the {name} of {folder} has another shape than the recipe's.") from None

    def step(self, index: int, fraction: float) -> dict[str, float]:
        s = self.settings
        generator = step_generator(self.seed, self.name, index)
        rows = torch.randint(len(self.labels), (s.batch,), generator=generator)
        flips = torch.randint(len(self.tokens), (s.batch,), generator=generator)
        tokens = self.tokens[flips, rows].long()  # (B, D)
        t = spread_timesteps(s.batch, s.timesteps, generator)
        dropped = torch.rand(s.batch, generator=generator) < s.prompt_dropout
        noisy = corrupt(tokens, t, self.scheduler, generator)
        changed, kept = self._nats(self.prior, tokens, noisy, t, self.labels[rows], dropped)
        self.descent.step(changed + s.kept_weight * kept, fraction)
        follow(self.average, self.prior, s.ema_decay, index)
        return {"loss": changed.item(), "kept": kept.item()}

    @torch.no_grad()
    def report(self) -> dict[str, float]:
        """Held-out nats of the averaged weights per token that noise changed and per token it kept, over all levels."""
        tokens, labels = self.held_out
        generator = step_generator(self.seed, "held out", 0)
        t = spread_timesteps(len(tokens), self.settings.timesteps, generator)
        noisy = corrupt(tokens, t, self.scheduler, generator)
        dropped = torch.zeros(len(tokens), dtype=torch.bool)
        changed, kept = self._nats(self.average, tokens, noisy, t, labels, dropped)
        return {"held_out_nats": changed.item(), "held_out_kept": kept.item()}

    def state(self) -> dict[str, Any]:
        return {
            "prior": self.prior.state_dict(),
            "average": self.average.state_dict(),
            "optimizers": self.descent.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        self.prior.load_state_dict(state["prior"])
        self.average.load_state_dict(state["average"])
        self.descent.load(state["optimizers"])

    def _nats(
        self, prior: TokenPrior, tokens: Tensor, noisy: Tensor, t: Tensor, labels: Tensor, dropped: Tensor
    ) -> tuple[Tensor, Tensor]:
        changed = (noisy != tokens).to(self.device)
        inputs = (part.to(self.device) for part in (noisy, t, labels, dropped))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
            log_p = prior(*inputs)
        log_p, truth = log_p.float(), tokens.to(self.device)
        return mean_nats(log_p, truth, changed), mean_nats(log_p, truth, ~changed)


def _is_matrix(name: str, weight: nn.Parameter) -> bool:
    """Matrices of attention and feed-forward layers."""
    return weight.ndim == 2 and name.startswith("transformer.transformer_blocks.") and ".norm" not in name
