"""VQ-Diffusion priors, and CLIP-VQDiffusion's: discrete diffusion over the tokens of a VQGAN."""

from collections.abc import Callable, Sequence
from contextlib import suppress

import torch
from torch import Tensor, nn

from g2d2.choices import Compile
from g2d2.priors.base import Condition, Discrete, joined
from g2d2.priors.clip_prompts import padded_ids
from g2d2.priors.compiling import Compiled, filled_up, with_graphs
from g2d2.priors.precise_logits import keep_precise
from g2d2.priors.probe import PROBE_ROWS, ask, set_up_networks
from g2d2.priors.prompt_cache import PromptCache
from g2d2.priors.vq_diffusion.components import Components, check_components
from g2d2.sampling import LOG_FLOOR, truncate_top_p
from g2d2.schedule import vq_diffusion_schedule

CPU_ROWS = 8
"""Rows the decoder takes at once on a CPU. Torch's convolutions change algorithm, and so rounding, between one small
image and several, and again between 15 and 16 on one thread; a long optimisation amplifies that to other tokens. Within
these bounds a row decodes to the same bits in any batch."""

LONE_ROW_SIZE = 20480
"""Elements up to which torch convolves a single image by another algorithm; such a row is decoded as a pair."""


class VQDiffusionPrior(Discrete):
    """A frozen VQ-Diffusion model; a method's arithmetic stays in float32 (float64 for float64 networks)."""

    _decode: Callable[[Tensor], Tensor]
    _denoise: Callable[[Tensor, Tensor, Tensor], Tensor]
    _prompts: PromptCache
    _blank: Tensor | None

    def __init__(
        self,
        components: Components,
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        channels_last: bool = False,
        compile_networks: Compile = False,
        rows: int = PROBE_ROWS,
    ):
        check_components(components)
        super().__init__(device)
        self.decode_rows = CPU_ROWS if self.device.type == "cpu" else None
        self.components = components
        self.schedule = vq_diffusion_schedule(components.scheduler.config)
        self.token_grid = components.transformer.height, components.transformer.width
        self.num_tokens = self.token_grid[0] * self.token_grid[1]
        scale = 2 ** (len(components.vqvae.config.block_out_channels) - 1)
        self.x_shape = (components.vqvae.config.out_channels, *(side * scale for side in self.token_grid))
        set_up_networks(self._set_up, lambda: ask(self), dtype, channels_last)
        self.static_shapes = bool(compile_networks)
        if compile_networks:
            graphs = with_graphs(compile_networks, self.device)
            self._decode = Compiled("the decoder", self._run_decoder, dtype, graphs)
            self._denoise = Compiled("the transformer", self._run_transformer, dtype, graphs)
            with suppress(torch.OutOfMemoryError):  # who solves may still choose a smaller batch
                ask(self, rows)  # compiled and tried now rather than in the middle of the work

    def _set_up(self, dtype: torch.dtype, memory_format: torch.memory_format) -> None:
        """Networks of that precision and layout, not compiled."""
        self.network_dtype = dtype
        self.dtype = torch.float64 if dtype == torch.float64 else torch.float32
        parts = self.components
        for part in (parts.vqvae, parts.transformer, parts.text_encoder, self._learned):
            # diffusers' own `to` logs a warning for every component, whatever the dtype
            nn.Module.to(part, device=self.device, dtype=dtype).eval().requires_grad_(False)
        keep_precise(parts.transformer.out, self.dtype)
        if memory_format is torch.channels_last:
            parts.vqvae.to(memory_format=memory_format)
        self._memory_format = memory_format
        self._decode, self._denoise = self._run_decoder, self._run_transformer
        self.codebook = parts.vqvae.quantize.embedding.weight
        self._timesteps = torch.arange(self.schedule.train_steps, device=self.device)
        self._prompts, self._blank = PromptCache(self._encode_texts), None

    @property
    def _learned(self) -> nn.Module:
        return self.components.learned_classifier_free_sampling_embeddings  # type: ignore[no-any-return]

    def condition(
        self, prompts: Sequence[str], guidance: Sequence[float], x_shapes: Sequence[Sequence[int]] | None = None
    ) -> Condition:
        """A prompt without weight is not encoded; the others run through the text encoder once while they are kept."""
        states = self._prompts.lookup(text for text, scale in zip(prompts, guidance, strict=True) if scale != 0)
        blank = self._unconditional()[0]
        rows = [states[text] if scale != 0 else blank for text, scale in zip(prompts, guidance, strict=True)]
        return Condition(torch.stack(rows), torch.tensor(guidance, dtype=self.dtype))

    @torch.no_grad()
    def _encode_texts(self, texts: list[str]) -> Tensor:
        output = self.components.text_encoder(padded_ids(self.components.tokenizer, texts).to(self.device))
        hidden: Tensor = output.text_embeds.unsqueeze(1) if self.components.pooled else output.last_hidden_state
        states: Tensor = hidden / hidden.norm(dim=-1, keepdim=True)  # VQ-Diffusion was trained on normalised states
        return states

    @torch.no_grad()
    def _unconditional(self) -> Tensor:
        """(1, L, C)"""
        if self._blank is None:
            learned: Tensor = self._learned.embeddings  # type: ignore[assignment]
            self._blank = learned.unsqueeze(0) if self._learned.learnable else self._encode_texts([""])
        return self._blank

    @torch.no_grad()
    def log_probs(self, z_t: Tensor, t: int, condition: Condition, top_p: float = 1.0) -> Tensor:
        """log p(z_0 | z_t) with guidance; a row at s = 1 or s = 0 costs one pass instead of two. (B, K, D)"""
        rows, weights, prompted = condition.guided
        blank = self._unconditional().to(condition.embeddings).expand(len(rows) - prompted, -1, -1)
        states = torch.cat([condition.embeddings[rows[:prompted]], blank])
        tokens = z_t[rows]
        if self.static_shapes:
            tokens, states = filled_up(len(z_t), tokens, states)
        output = self._denoise(tokens, states, self._timesteps[t - 1].clone())[: len(rows)].to(self.dtype)
        guided = torch.zeros((len(z_t), *output.shape[1:]), dtype=output.dtype, device=output.device)
        guided.index_add_(0, rows, output * weights)
        guided = truncate_top_p(guided.log_softmax(dim=1), top_p)
        return guided.clamp(min=LOG_FLOOR)

    def _run_transformer(self, tokens: Tensor, states: Tensor, timestep: Tensor) -> Tensor:
        return self.components.transformer(tokens, states, timestep, return_dict=False)[0]  # type: ignore[no-any-return]

    def decode(self, embeddings: Tensor, active: Tensor | None = None) -> Tensor:
        grid = embeddings.reshape(*embeddings.shape[:2], *self.token_grid).to(self.network_dtype)  # (B, C, h, w)
        return joined([self._decode_some(part) for part in grid.split(self.decode_rows or len(grid))])

    def _decode_some(self, grid: Tensor) -> Tensor:
        lone = len(grid) == 1 and grid.device.type == "cpu" and grid.numel() <= LONE_ROW_SIZE
        rows = grid.expand(2, -1, -1, -1) if lone else grid
        decode = self._decode if rows.requires_grad else self._run_decoder  # a lone image is not worth compiling for
        images: Tensor = decode(rows.contiguous(memory_format=self._memory_format)).to(self.dtype)
        return images[:1] if lone else images

    def _run_decoder(self, grid: Tensor) -> Tensor:
        """Pixels; the model's own `decode` brings a number to the device each time, for which a GPU would wait."""
        vqvae = self.components.vqvae
        spatial = grid if vqvae.config.norm_type == "spatial" else None
        return vqvae.decoder(vqvae.post_quant_conv(grid), spatial)  # type: ignore[no-any-return]

    @torch.no_grad()
    def encode(self, x: Tensor) -> Tensor:
        vqvae = self.components.vqvae
        latents = vqvae.encode(x.to(self.device, self.network_dtype)).latents
        return vqvae.quantize(latents)[2][2].view(len(x), -1)  # type: ignore[no-any-return]
