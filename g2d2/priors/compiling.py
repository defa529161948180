"""Compiled networks that are compared with the plain ones before their answers are used."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from g2d2.choices import Compile
from g2d2.priors.probe import probe_gradient, refuse_difference
from operators import InputError

INDUCTOR_OPTIONS: dict[str, Any] = {"layout_optimization": False}
"""Left on, torch 2.13 gives zeros as the gradient of a decoder by its input on a CPU, beside the right image: seen for
a residual block with an upsampling behind it in one graph. `channels_last` lays out the decoder's memory without it."""

GRAPH_OPTIONS = {"triton.cudagraphs": True, "triton.cudagraph_or_error": True}
"""Without the second torch runs what no graph can hold beside the graphs, and says nothing."""

CALLS = 3
"""Of what is tried: a CUDA graph is warmed up by the first, recorded by the second and replayed by the third."""

MOST_SHAPES = 128
"""That a network is compiled for. Torch's own limit is 8, which sizes of batches with and without guidance exceed."""


class Compiled:
    """A function of tensors, compiled; tried for each new shape, because each may be compiled anew."""

    def __init__(self, name: str, plain: Callable[..., Tensor], dtype: torch.dtype, graphs: bool = False):
        self.name, self.plain, self.dtype, self.graphs = name, plain, dtype, graphs
        # one graph a shape: what takes any is slower, and no CUDA graph can hold it
        self.fast: Callable[..., Tensor] = torch.compile(  # type: ignore[call-overload]
            plain,
            options=INDUCTOR_OPTIONS | (GRAPH_OPTIONS if graphs else {}),
            dynamic=False,
            recompile_limit=MOST_SHAPES,
            isolate_recompiles=True,  # other priors of the class have limits of their own
        )
        self.tried: set[tuple[tuple[torch.Size, bool], ...]] = set()  # shape of each input, and if it has a gradient

    def __call__(self, *inputs: Tensor) -> Tensor:
        kind = tuple((value.shape, value.requires_grad) for value in inputs)
        if kind not in self.tried:
            self._try(inputs)
            self.tried.add(kind)
        return self._run(*inputs)

    def _run(self, *inputs: Tensor) -> Tensor:
        """Compiled or not at all: beyond its limit torch would run the plain function and say nothing."""
        if self.graphs:
            inputs = tuple(_copied(value) if value.requires_grad else value for value in inputs)
        try:
            with torch._dynamo.config.patch(fail_on_recompile_limit_hit=True):
                output = self.fast(*inputs)
        except torch._dynamo.exc.FailOnRecompileLimitHit as error:
            raise InputError(
                f"compile: torch compiles {self.name} for no further shape in this process, as it has for "
                f"{len(self.tried)}; use fewer sizes of batch, or do without."
            ) from error
        return _copied(output) if self.graphs else output

    def _try(self, inputs: tuple[Tensor, ...]) -> None:
        plain = _answers(self.plain, inputs)
        try:
            for _ in range(CALLS):
                fast = _answers(self._run, inputs)
        except (torch.OutOfMemoryError, torch.AcceleratorError, InputError):
            raise
        except Exception as error:  # compilers of several layers have as many kinds of exceptions
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"compile: torch cannot compile {self.name} on this machine ({reason}).") from error
        for what, value, expected in zip(
            (f"{self.name}'s value", f"{self.name}'s gradient"), fast, plain, strict=False
        ):
            refuse_difference(what, value, expected, self.dtype, "compile")


class _Copied(torch.autograd.Function):
    """What a CUDA graph gives, as value or as gradient, lies where its next replay writes."""

    @staticmethod
    def forward(context: Any, value: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        return gradient.clone()


def _copied(value: Tensor) -> Tensor:
    return _Copied.apply(value)  # type: ignore[no-any-return, no-untyped-call]


def with_graphs(form: Compile, device: torch.device) -> bool:
    """Whether CUDA graphs are asked for; refused where there can be none."""
    if form == "graphs" and device.type != "cuda":
        raise InputError("compile: graphs needs a GPU; allowed here: true, false.")
    return form == "graphs"


def _answers(function: Callable[..., Tensor], inputs: tuple[Tensor, ...]) -> list[Tensor]:
    """Value, and the gradients by what has one."""
    inputs = tuple(value.detach().clone().requires_grad_(value.requires_grad) for value in inputs)
    output = function(*inputs)
    return [output.detach(), *(probe_gradient(output, value) for value in inputs if value.requires_grad)]


def filled_up(rows: int, *inputs: Tensor) -> tuple[Tensor, ...]:
    """Passes of a batch of so many rows, its first repeated, so that there are as many as rows or twice as many.

    Rows with and without a second pass come in any mixture, and each number of passes would be compiled anew.
    """
    missing = -len(inputs[0]) % rows
    if missing == 0:
        return inputs
    return tuple(torch.cat([value, value[:1].expand(missing, *value.shape[1:])]) for value in inputs)
