"""Masked motion priors: a transformer over the tokens of a motion VQ-VAE, whose rows differ in length."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from g2d2.choices import Compile
from g2d2.priors.base import Condition, Discrete
from g2d2.priors.clip_prompts import padded_ids
from g2d2.priors.compiling import Compiled, filled_up, with_graphs
from g2d2.priors.masked_motion.motion_components import MotionComponents
from g2d2.priors.masked_motion.motion_layout import LEVELS
from g2d2.priors.precise_logits import keep_precise
from g2d2.priors.probe import PROBE_ROWS, ask, refuse_other_answers
from g2d2.priors.prompt_cache import PromptCache
from g2d2.sampling import LOG_FLOOR, truncate_top_p
from g2d2.schedule import cosine_mask_schedule
from operators import InputError
from operators.skeleton import FEATURES

CPU_ROWS = 8
"""Rows that the tokeniser takes at once on a CPU, where torch changes algorithm, and so rounding, with larger batches.
Products of matrices, as in transformers, do so for any number of rows; there each runs by itself."""


class MaskedMotionPrior(Discrete):
    """A frozen masked motion model; a method's arithmetic stays in float32 (float64 for float64 networks)."""

    signal = "motion"

    _decode: Callable[..., Tensor]
    _denoise: Callable[..., Tensor]

    def __init__(
        self,
        components: MotionComponents,
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        compile_networks: Compile = False,
        rows: int = PROBE_ROWS,
    ) -> None:
        super().__init__(device)
        self.components = components
        self.num_tokens = components.transformer.config.tokens
        self.frames_per_token = components.vqvae.frames_per_token
        self.x_shape = (components.vqvae.config.longest, FEATURES)
        self.schedule = cosine_mask_schedule(LEVELS, components.vqvae.config.codes)
        self.decode_rows = CPU_ROWS if self.device.type == "cpu" else None
        plain = None
        if dtype in (torch.float16, torch.bfloat16):
            self._set_up(torch.float32)
            plain = ask(self)
        self._set_up(dtype)
        if plain is not None:
            refuse_other_answers(plain, ask(self), dtype, f"dtype {str(dtype).removeprefix('torch.')}")
        self.static_shapes = bool(compile_networks)
        if compile_networks:
            graphs = with_graphs(compile_networks, self.device)
            self._decode = Compiled("the decoder", self._run_decoder, dtype, graphs)
            self._denoise = Compiled("the transformer", self._run_transformer, dtype, graphs)
            ask(self, rows)

    def _set_up(self, dtype: torch.dtype) -> None:
        """Networks of that precision, not compiled."""
        parts = self.components
        self.network_dtype = dtype
        self.dtype = torch.float64 if dtype == torch.float64 else torch.float32
        for part in (parts.vqvae, parts.transformer, parts.text_encoder):
            nn.Module.to(part, device=self.device, dtype=dtype).eval().requires_grad_(False)
        keep_precise(parts.transformer.head, self.dtype)
        self.normalisation = parts.normalisation.to(self.device, self.dtype)
        self.codebook = parts.vqvae.codebook
        self._decode, self._denoise = self._run_decoder, self._run_transformer
        self._prompts = PromptCache(self._encode_texts)

    @property
    def mask_id(self) -> int:
        return self.components.transformer.mask_id  # type: ignore[no-any-return]

    def condition(
        self, prompts: Sequence[str], guidance: Sequence[float], x_shapes: Sequence[Sequence[int]] | None = None
    ) -> Condition:
        """The pooled prompt before its words, (B, 1 + L, C); one without weight is the empty one."""
        texts = [text if scale != 0 else "" for text, scale in zip(prompts, guidance, strict=True)]
        states = self._prompts.lookup(texts)
        frames = [self.x_shape[0]] * len(texts) if x_shapes is None else [shape[0] for shape in x_shapes]
        return Condition(
            torch.stack([states[text] for text in texts]),
            torch.tensor(guidance, dtype=self.dtype),
            self._active(frames),
        )

    def _active(self, frames: Sequence[int]) -> Tensor:
        """Which tokens have frames of a row's own. (B, D)"""
        counts = torch.tensor([-(-own // self.frames_per_token) for own in frames])
        return (torch.arange(self.num_tokens) < counts[:, None]).to(self.device)

    @torch.no_grad()
    def _encode_texts(self, texts: list[str]) -> Tensor:
        ids = padded_ids(self.components.tokenizer, texts).to(self.device)
        return self._in_parts(self._run_text_encoder, ids, size=1)

    def _run_text_encoder(self, ids: Tensor) -> Tensor:
        output = self.components.text_encoder(ids)
        return torch.cat([output.text_embeds.unsqueeze(1), output.last_hidden_state], dim=1)

    @torch.no_grad()
    def log_probs(self, z_t: Tensor, t: int, condition: Condition, top_p: float = 1.0) -> Tensor:
        """log p(z_0 | z_t) with guidance; a row at s = 1 or s = 0 costs one pass instead of two. (B, K, D)"""
        rows, weights, prompted = condition.guided
        unprompted = len(rows) - prompted
        blank = self._prompts.lookup([""])[""] if unprompted else condition.embeddings[0]
        states = torch.cat([condition.embeddings[rows[:prompted]], blank.expand(unprompted, *blank.shape)])
        active = torch.ones_like(z_t, dtype=torch.bool) if condition.active is None else condition.active
        inputs: tuple[Tensor, ...] = (z_t[rows], active[rows], states)
        if self.static_shapes and self.device.type != "cpu":
            inputs = filled_up(len(z_t), *inputs)
        logits = self._in_parts(self._denoise, *inputs, size=1)[: len(rows)].to(self.dtype)
        log_p = logits.log_softmax(dim=1)
        guided = log_p.new_zeros(len(z_t), *log_p.shape[1:]).index_add_(0, rows, log_p * weights)
        return truncate_top_p(guided.log_softmax(dim=1), top_p).clamp(min=LOG_FLOOR)

    def _run_transformer(self, tokens: Tensor, active: Tensor, states: Tensor) -> Tensor:
        return self.components.transformer(tokens, active, states[:, 0], states[:, 1:])  # type: ignore[no-any-return]

    def decode(self, embeddings: Tensor, active: Tensor | None = None) -> Tensor:
        """Features as they are measured, each row at its own length and zeros beyond. (B, F, 263)"""
        inputs = (embeddings.to(self.network_dtype),) if active is None else (embeddings.to(self.network_dtype), active)
        made = self.normalisation.restore(self._in_parts(self._decode, *inputs).to(self.dtype))
        if active is None:
            return made
        return made * active.repeat_interleave(self.frames_per_token, dim=1).unsqueeze(-1)

    def _run_decoder(self, embeddings: Tensor, active: Tensor | None = None) -> Tensor:
        return self.components.vqvae.decode(embeddings, active)  # type: ignore[no-any-return]

    @torch.no_grad()
    def encode(self, x: Tensor) -> Tensor:
        """Tokens of x (B, F, 263) of one length, the last frame repeated to fill a token; 0 beyond. (B, D)"""
        frames, longest = x.shape[1], self.x_shape[0]
        if not 1 <= frames <= longest:
            raise InputError(f"x has {frames} frames: the prior's tokeniser takes 1 to {longest}.")
        missing = -frames % self.frames_per_token
        z = self.normalisation.normalise(x.to(self.device, self.dtype)).to(self.network_dtype)
        z = torch.cat([z, z[:, -1:].expand(-1, missing, -1)], dim=1)
        tokens: Tensor = self._in_parts(
            lambda some: self.components.vqvae.nearest(self.components.vqvae.encode(some)), z
        )
        return nn.functional.pad(tokens, (0, self.num_tokens - tokens.shape[1]))

    def _in_parts(self, run: Callable[..., Tensor], *inputs: Tensor, size: int = CPU_ROWS) -> Tensor:
        """A few rows at once on a CPU, so that a row gives the same bits in any batch."""
        if self.device.type != "cpu":
            return run(*inputs)
        parts = zip(*(value.split(size) for value in inputs), strict=True)
        return torch.cat([_paired(run, part) if size > 1 else run(*part) for part in parts])


def _paired(run: Callable[..., Tensor], inputs: tuple[Tensor, ...]) -> Tensor:
    """A lone row as one of a pair: torch convolves one small row by another algorithm than several."""
    if len(inputs[0]) > 1:
        return run(*inputs)
    return run(*(value.expand(2, *value.shape[1:]) for value in inputs))[:1]
