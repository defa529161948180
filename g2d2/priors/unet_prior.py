"""Gaussian diffusion by a frozen UNet of diffusers: what pixel and latent priors have in common."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from g2d2.choices import Compile
from g2d2.priors.base import Condition, Denoised, Diffusion
from g2d2.priors.compiling import Compiled, with_graphs
from g2d2.priors.gaussian_noise import GaussianNoise
from g2d2.priors.probe import PROBE_ROWS, ask_diffusion, set_up_networks
from g2d2.priors.steady_rows import CPU_ROWS, steady
from g2d2.priors.unet_conditions import Nothing


class UNetPrior(Diffusion):
    """A frozen UNet with its noise; a method's arithmetic stays in float32 (float64 for float64 networks)."""

    _unet: Callable[[Tensor, Tensor, Tensor], Tensor]

    def __init__(
        self,
        unet: Any,
        noise: GaussianNoise,
        conditions: Nothing | None = None,
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        channels_last: bool = False,
        compile_networks: Compile = False,
        rows: int = PROBE_ROWS,
    ):
        super().__init__(device)
        self.unet, self.noise, self.conditions = unet, noise, conditions or Nothing()
        self.decode_rows = CPU_ROWS if self.device.type == "cpu" else None
        self.alpha_bar = noise.alpha_bar
        size = unet.config.sample_size
        self.z_shape = (unet.config.in_channels, *((size, size) if isinstance(size, int) else size))
        self._set_shape()
        set_up_networks(self._set_up, self._ask, dtype, channels_last)
        if compile_networks:
            self._compile(dtype, with_graphs(compile_networks, self.device))
            with suppress(torch.OutOfMemoryError):  # who solves may still choose a smaller batch
                self._ask(rows)  # compiled and tried now rather than in the middle of the work

    @property
    def networks(self) -> tuple[nn.Module, ...]:
        """All that has weights, those with convolutions first."""
        return (self.unet, *self.conditions.networks)

    def _set_shape(self) -> None:
        self.x_shape = self.z_shape

    def _ask(self, rows: int = PROBE_ROWS) -> dict[str, Tensor]:
        return ask_diffusion(self, self.conditions.example(rows))

    def _set_up(self, dtype: torch.dtype, memory_format: torch.memory_format) -> None:
        """Networks of that precision and layout, not compiled."""
        self.network_dtype, self._memory_format = dtype, memory_format
        self.dtype = torch.float64 if dtype == torch.float64 else torch.float32
        for network in self.networks:
            # diffusers' own `to` logs a warning for every component, whatever the dtype
            nn.Module.to(network, device=self.device, dtype=dtype).eval().requires_grad_(False)
            if memory_format is torch.channels_last and network not in self.conditions.networks:
                network.to(memory_format=memory_format)  # type: ignore[call-overload]
            if self.device.type == "cpu":
                steady(network)
        self.conditions.place(self.device)
        self._unet = self._run_unet

    def _compile(self, dtype: torch.dtype, graphs: bool) -> None:
        self._unet = Compiled("the denoiser", self._run_unet, dtype, graphs)

    def condition(
        self, prompts: Sequence[str], guidance: Sequence[float], x_shapes: Sequence[Sequence[int]] | None = None
    ) -> Condition:
        return self.conditions.condition(prompts, guidance)

    def denoise(self, z_t: Tensor, t: int, condition: Condition) -> Denoised:
        return self.noise.denoised(self._guided(z_t, t, condition), z_t, t)

    def _guided(self, z_t: Tensor, t: int, condition: Condition) -> Tensor:
        """The network's output; a row at s = 1 or s = 0 costs one pass instead of two."""
        scale = condition.guidance
        if bool((scale == 1).all()):
            return self._run_some(z_t, condition.embeddings, t)
        with_prompt, without = (scale != 0).nonzero().flatten(), (scale != 1).nonzero().flatten()
        rows = torch.cat([with_prompt, without]).to(self.device)
        blank = self.conditions.blank().to(condition.embeddings)
        states = torch.cat(
            [condition.embeddings[with_prompt.to(self.device)], blank.expand(len(without), *blank.shape[1:])]
        )
        output = self._run_some(z_t[rows], states, t)
        weights = torch.cat([scale[with_prompt], 1 - scale[without]])
        weights = weights.to(output).view(-1, 1, 1, 1).expand(-1, output.shape[1], -1, -1)
        if self.noise.learned:  # the variance is the conditional one: an extrapolated one means nothing
            own = torch.cat([torch.ones(len(with_prompt)), (scale[without] == 0).float()]).to(output)
            half = output.shape[1] // 2
            weights = torch.cat([weights[:, :half], own.view(-1, 1, 1, 1).expand(-1, half, -1, -1)], dim=1)
        return output.new_zeros(len(z_t), *output.shape[1:]).index_add(0, rows, output * weights)

    def _run_some(self, z_t: Tensor, states: Tensor, t: int) -> Tensor:
        """A few rows at a time on a CPU, so that none depends on how many there are."""
        timestep, size = torch.tensor(t, device=self.device), self.decode_rows or len(z_t)
        z_t = z_t.to(self.network_dtype)
        outputs = [
            self._unet(some.contiguous(memory_format=self._memory_format), own, timestep)
            for some, own in zip(z_t.split(size), states.split(size), strict=True)
        ]
        return torch.cat(outputs).to(self.dtype)

    def _run_unet(self, z_t: Tensor, states: Tensor, timestep: Tensor) -> Tensor:
        return self.unet(z_t, timestep, return_dict=False, **self.conditions.arguments(states))[0]  # type: ignore[no-any-return]
