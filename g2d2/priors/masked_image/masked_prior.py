"""Masked generative models of images, aMUSEd's and those in its layout, as discrete priors."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress

import torch
from torch import Tensor, nn

from g2d2.choices import Compile
from g2d2.priors.base import Condition, Discrete
from g2d2.priors.clip_prompts import padded_ids
from g2d2.priors.compiling import Compiled, filled_up, with_graphs
from g2d2.priors.masked_image.masked_components import MaskedParts
from g2d2.priors.precise_logits import keep_precise
from g2d2.priors.probe import PROBE_ROWS, ask, set_up_networks
from g2d2.priors.prompt_cache import PromptCache
from g2d2.priors.steady_rows import CPU_ROWS, steady
from g2d2.sampling import LOG_FLOOR, truncate_top_p
from g2d2.schedule import MASK_SCHEDULES, NOMINAL_STEPS

CARRY_OVER = 0.9
"""Least probability with which a token that is not masked stays what it is."""

_SCORE = 6
"""The aesthetic score that aMUSEd's pipeline asks for."""


class MaskedImagePrior(Discrete):
    """A frozen aMUSEd; a method's arithmetic stays in float32 (float64 for float64 networks).

    Its VQGAN sees pixels in [0, 1], which x in [-1, 1] becomes here, and gives NaN in float16: it runs in float32 then.
    """

    _decode: Callable[[Tensor], Tensor]
    _fill_in: Callable[[Tensor, Tensor, Tensor], Tensor]
    _prompts: PromptCache
    _micro: Tensor

    def __init__(
        self,
        parts: MaskedParts,
        *,
        carry_over: float = CARRY_OVER,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        channels_last: bool = False,
        compile_networks: Compile = False,
        rows: int = PROBE_ROWS,
    ):
        super().__init__(device)
        self.parts, self.carry_over = parts, carry_over
        self.decode_rows = CPU_ROWS if self.device.type == "cpu" else None
        masking, side = parts.scheduler.config.masking_schedule, parts.transformer.config.sample_size
        self.schedule = MASK_SCHEDULES[masking](NOMINAL_STEPS, parts.vqvae.config.num_vq_embeddings)
        self.token_grid = (side, side)
        self.num_tokens = side * side
        side *= 2 ** (len(parts.vqvae.config.block_out_channels) - 1)
        self.x_shape = (parts.vqvae.config.out_channels, side, side)
        set_up_networks(self._set_up, lambda: ask(self), dtype, channels_last)
        self.static_shapes = bool(compile_networks)
        if compile_networks:
            graphs = with_graphs(compile_networks, self.device)
            self._decode = Compiled("the decoder", self._run_decoder, self._vq_dtype, graphs)
            self._fill_in = Compiled("the transformer", self._run_transformer, dtype, graphs)
            with suppress(torch.OutOfMemoryError):  # who solves may still choose a smaller batch
                ask(self, rows)  # compiled and tried now rather than in the middle of the work

    def _set_up(self, dtype: torch.dtype, memory_format: torch.memory_format) -> None:
        """Networks of that precision and layout, not compiled."""
        self.dtype = torch.float64 if dtype == torch.float64 else torch.float32
        self._vq_dtype = torch.float32 if dtype == torch.float16 else dtype
        vqvae, others = self.parts.vqvae, (self.parts.transformer, self.parts.text_encoder)
        for network, own in ((vqvae, self._vq_dtype), *((network, dtype) for network in others)):
            # diffusers' own `to` logs a warning for every component, whatever the dtype
            nn.Module.to(network, device=self.device, dtype=own).eval().requires_grad_(False)
            if self.device.type == "cpu":
                steady(network)
        keep_precise(self.parts.transformer.mlm_layer.conv2, self.dtype)
        if memory_format is torch.channels_last:
            vqvae.to(memory_format=memory_format)
        self._memory_format = memory_format
        self._decode, self._fill_in = self._run_decoder, self._run_transformer
        self.codebook = vqvae.quantize.embedding.weight
        self._prompts = PromptCache(self._encode_texts)
        height, width = self.x_shape[1:]
        self._micro = torch.tensor((width, height, 0, 0, _SCORE), dtype=torch.float32, device=self.device)

    @property
    def mask_id(self) -> int:
        """One of the ids behind the codes, the last of aMUSEd's."""
        return int(self.parts.scheduler.config.mask_token_id)

    def condition(
        self, prompts: Sequence[str], guidance: Sequence[float], x_shapes: Sequence[Sequence[int]] | None = None
    ) -> Condition:
        """States of every token of a prompt, and its pooled state.

        The blank is the empty prompt, so that guidance changes nothing for a row without prompt: it gets 1.
        """
        texts = ["" if scale == 0 else text for text, scale in zip(prompts, guidance, strict=True)]
        states = self._prompts.lookup(texts)
        embeddings, pooled = self._unpacked(torch.stack([states[text] for text in texts]))
        scales = [1.0 if text == "" else scale for text, scale in zip(texts, guidance, strict=True)]
        return Condition(embeddings, torch.tensor(scales, dtype=self.dtype), pooled=pooled)

    @torch.no_grad()
    def _encode_texts(self, texts: list[str]) -> Tensor:
        """States and pooled state of each text in one row, which is kept. (B, L * C + P)"""
        rows = []
        for ids in padded_ids(self.parts.tokenizer, texts).to(self.device).split(self.decode_rows or len(texts)):
            output = self.parts.text_encoder(ids, output_hidden_states=True)
            rows.append(torch.cat([output.hidden_states[-2].flatten(1), output.text_embeds], dim=1))
        return torch.cat(rows)

    def _unpacked(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """(B, L, C) and (B, P)"""
        config = self.parts.text_encoder.config
        states, pooled = rows.tensor_split([rows.shape[1] - config.projection_dim], dim=1)
        return states.unflatten(1, (-1, config.hidden_size)), pooled

    @torch.no_grad()
    def log_probs(self, z_t: Tensor, t: int, condition: Condition, top_p: float = 1.0) -> Tensor:
        """log p(z_0 | z_t) with guidance on logits; the network knows no time, so t changes nothing. (B, K, D)"""
        log_p = self._carried_over(self._guided(z_t, condition).log_softmax(dim=1), z_t)
        return truncate_top_p(log_p, top_p).clamp(min=LOG_FLOOR)

    def _guided(self, z_t: Tensor, condition: Condition) -> Tensor:
        """Logits; a row at s = 1 costs one pass instead of two. (B, K, D)"""
        assert condition.pooled is not None  # made by `condition`
        if bool((condition.guidance == 1).all()):
            return self._logits(z_t, condition.embeddings, condition.pooled)
        rows, weights, _ = condition.guided  # every row has a pass with its prompt, as none is at 0
        without = len(rows) - len(z_t)
        states, pooled = self._unpacked(self._prompts.lookup([""])[""][None])
        inputs: tuple[Tensor, ...] = (
            z_t[rows],
            torch.cat([condition.embeddings, states.expand(without, -1, -1)]),
            torch.cat([condition.pooled, pooled.expand(without, -1)]),
        )
        if self.static_shapes:
            inputs = filled_up(len(z_t), *inputs)
        output = self._logits(*inputs)[: len(rows)]
        return output.new_zeros(len(z_t), *output.shape[1:]).index_add(0, rows, output * weights)

    def _logits(self, tokens: Tensor, states: Tensor, pooled: Tensor) -> Tensor:
        """A few rows at a time on a CPU, so that none depends on how many there are. (B, K, D)"""
        size = self.decode_rows or len(tokens)
        groups = zip(tokens.split(size), states.split(size), pooled.split(size), strict=True)
        return torch.cat([self._logits_of_few(*some) for some in groups]).to(self.dtype)

    def _logits_of_few(self, tokens: Tensor, states: Tensor, pooled: Tensor) -> Tensor:
        """A lone row runs as one of a pair on a CPU: its images' order of memory would else choose other algorithms."""
        if len(tokens) > 1 or self.decode_rows is None:
            return self._fill_in(tokens, states, pooled)
        return self._fill_in(*(part.expand(2, *part.shape[1:]) for part in (tokens, states, pooled)))[:1]

    def _run_transformer(self, tokens: Tensor, states: Tensor, pooled: Tensor) -> Tensor:
        logits: Tensor = self.parts.transformer(
            tokens.unflatten(1, self.token_grid),
            encoder_hidden_states=states,
            pooled_text_emb=pooled,
            micro_conds=self._micro.expand(len(tokens), -1),
        )
        return logits.flatten(2)

    def _carried_over(self, log_p: Tensor, z_t: Tensor) -> Tensor:
        """Tokens that are not masked stay with p >= `carry_over`; what others lose, they lose evenly. (B, K, D)"""
        kept = (z_t != self.mask_id).unsqueeze(1)  # (B, 1, D)
        index = z_t.clamp(max=log_p.shape[1] - 1).unsqueeze(1)
        own = log_p.gather(1, index)
        stays = own.clamp(min=_log(self.carry_over))
        # (1 - p_stays) / (1 - p_own) of the others' mass is left, which is 1 where the network knows by itself
        left = torch.where(stays > own, _log(1 - self.carry_over) - torch.log1p(-own.exp()), 0.0)
        return torch.where(kept, (log_p + left).scatter(1, index, stays), log_p)

    def decode(self, embeddings: Tensor, active: Tensor | None = None) -> Tensor:
        grid = embeddings.unflatten(2, self.token_grid).to(self._vq_dtype)  # (B, C, h, w)
        parts = grid.split(self.decode_rows or len(grid))
        images = torch.cat([self._decode_some(part.contiguous(memory_format=self._memory_format)) for part in parts])
        return images.to(self.dtype) * 2 - 1

    def _decode_some(self, grid: Tensor) -> Tensor:
        return (self._decode if grid.requires_grad else self._run_decoder)(grid)  # a last image is not worth compiling

    def _run_decoder(self, grid: Tensor) -> Tensor:
        """Pixels in [0, 1]; the model's own `decode` would take tokens, which have no gradient."""
        vqvae = self.parts.vqvae
        spatial = grid if vqvae.config.norm_type == "spatial" else None
        return vqvae.decoder(vqvae.post_quant_conv(grid), spatial)  # type: ignore[no-any-return]

    @torch.no_grad()
    def encode(self, x: Tensor) -> Tensor:
        vqvae, pixels = self.parts.vqvae, (x / 2 + 0.5).to(self.device, self._vq_dtype)
        tokens = [
            vqvae.quantize(vqvae.encode(some).latents)[2][2].view(len(some), -1)
            for some in pixels.split(self.decode_rows or len(pixels))
        ]
        return torch.cat(tokens)


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else -math.inf
