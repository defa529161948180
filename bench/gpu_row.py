"""`python -m bench.gpu_row SHAPE WAY DEVICE BATCH ROUNDS`: one row of `bench.gpu`; or `facts DEVICE`.

In a process of its own nothing that was compiled or allocated for another row counts, and what kills it kills no other.
"""

import gc
import json
import platform
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.optimize import nnls

import g2d2  # noqa: F401  (its import makes torchvision importable, before diffusers needs it)
from bench.problems import PROBLEMS, PROMPT, Problem
from g2d2.choices import Compile
from g2d2.methods.g2d2 import G2D2
from g2d2.priors import ITHQ, Components, VQDiffusionPrior
from g2d2.priors.probe import Answers, ask, distance
from g2d2.randomness import RowRandom

SHAPES: dict[str, Problem] = {"ithq": replace(PROBLEMS["full"], name="ithq", shape=ITHQ), **PROBLEMS}
PAPER_SECONDS = 194.0
"""Of an image as the paper prints it, for 100 steps of 30 iterations."""
PROTOCOL = G2D2().settings("paper", "imagenet-gaussian-deblur")
SHORT = ((1, 2), (1, 8), (3, 2))
"""Steps and iterations of the solves that are timed."""

_NUMBERS = ("pass_seconds", "decoder_seconds", "seconds_per_image", "low", "high", "peak_gib")


@dataclass(frozen=True)
class Way:
    """One way to run the networks."""

    name: str
    dtype: torch.dtype = torch.float32
    compile: Compile = False
    channels_last: bool = False

    def prior(self, components: Components, device: torch.device, rows: int) -> VQDiffusionPrior:
        return VQDiffusionPrior(
            components,
            device=device,
            dtype=self.dtype,
            channels_last=self.channels_last,
            compile_networks=self.compile,
            rows=rows,
        )


WAYS = {
    way.name: way
    for way in (
        Way("eager"),
        Way("channels-last", channels_last=True),
        Way("compiled", compile=True),
        Way("graphs", compile="graphs"),
        Way("bf16", dtype=torch.bfloat16),
        Way("bf16-compiled", dtype=torch.bfloat16, compile=True),
        Way("bf16-graphs", dtype=torch.bfloat16, compile="graphs"),
    )
}


def answer(words: Sequence[str]) -> dict[str, Any]:
    """What a process of its own prints: a row, or what is to be known of the device."""
    if words[0] == "facts":
        device = torch.device(words[1])
        name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "cpu"
        with _reason() as reason:
            return {"device": name, "correctness": against_cpu(device)}
        return {"device": name, "correctness": {"error": reason[0]}}
    shape, way, device_name, batch, rounds = words
    return measured_row(SHAPES[shape], WAYS[way], torch.device(device_name), int(batch), int(rounds))


def measured_row(problem: Problem, way: Way, device: torch.device, batch: int, rounds: int) -> dict[str, Any]:
    """Seconds of a batch by passes of the prior and calls of the decoder, of an image by the paper's protocol, and how
    far the networks' answers are from the plain ones'."""
    row: dict[str, Any] = {"way": way.name, "batch": batch}
    numbers: dict[str, Any] = dict.fromkeys((*_NUMBERS, "times_faster_than_paper", "from_eager"))
    with _reason() as reason:
        parts = problem.components()
        eager = _eager_answers(parts, device, batch)
        prior = way.prior(parts, device, batch)
        numbers["from_eager"] = None if eager is None else _distances(eager, ask(prior, batch))
        calls, peak = [], 0
        _unit_seconds(prior, problem, batch)  # warms up
        with torch._dynamo.config.patch(error_on_recompile=True):
            for _ in range(rounds):
                units, bytes_ = _unit_seconds(prior, problem, batch)
                peak = max(peak, bytes_)
                calls.append(units)
        per_image = [float(np.dot(G2D2().work(PROTOCOL), units)) / batch for units in calls]
        middle = statistics.median(per_image)
        units = [statistics.median(values) for values in zip(*calls, strict=True)]
        values = [*units, middle, min(per_image), max(per_image), peak / 2**30]
        numbers |= dict(zip(_NUMBERS, values, strict=False))
        if problem.shape == ITHQ:  # the paper's own
            numbers["times_faster_than_paper"] = PAPER_SECONDS / middle
    return row | numbers | {"error": reason[0] if reason else None}


def _eager_answers(parts: Components, device: torch.device, batch: int) -> Answers | None:
    """What the plain networks answer; None where they have no room for a batch that another way may have room for."""
    answers = None
    with suppress(torch.OutOfMemoryError):
        answers = {name: answer.cpu() for name, answer in ask(WAYS["eager"].prior(parts, device, batch), batch).items()}
    gc.collect()  # a prior holds functions of its own, so that only the collector frees it
    return answers


def _distances(expected: Answers, answers: Answers) -> dict[str, float]:
    """How far each answer is off, as a share of its size."""
    return {name: distance(answers[name].cpu(), answer) for name, answer in expected.items()}


@contextmanager
def _reason() -> Iterator[list[str]]:
    """Why what was tried failed, if it did: one way's failure costs no other."""
    reason: list[str] = []
    try:
        yield reason
    except Exception as error:
        reason.append(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")


def _unit_seconds(prior: VQDiffusionPrior, problem: Problem, batch: int) -> tuple[list[float], int]:
    method, settings = G2D2(), [PROTOCOL.model_copy(update={"steps": s, "iterations": i}) for s, i in SHORT]
    solutions = [
        method.run(prior, problem.operator(), problem.measurements(batch), one, prompts=PROMPT, seeds=range(batch))
        for one in settings
    ]
    work = np.array([method.work(one) for one in settings])
    units, _ = nnls(work, np.array([solution.seconds for solution in solutions]))
    return units.tolist(), max(solution.peak_bytes for solution in solutions)


def against_cpu(device: torch.device) -> dict[str, float]:
    """How far the device's answers lie from the CPU's, each as a share of its size; draws must be equal."""
    problem, rows = PROBLEMS["tiny"], 3
    priors = [Way("eager").prior(problem.components(), place, rows) for place in (torch.device("cpu"), device)]
    plain, other = (ask(prior, rows) for prior in priors)
    far = _distances(plain, other)
    draws = [RowRandom(range(rows), place).gumbel("relaxation", (64,), 1, 2).cpu() for place in ("cpu", device)]
    short = PROTOCOL.model_copy(update={"steps": 1, "iterations": 2, "learning_rate": 0.1})
    solved = [
        G2D2().run(prior, problem.operator(), problem.measurements(rows), short, prompts=PROMPT, seeds=range(rows))
        for prior in priors
    ]
    losses = [solution.curves["total"] for solution in solved]
    return far | {"draws": distance(draws[1], draws[0]), "losses of a short run": distance(losses[1], losses[0])}


if __name__ == "__main__":
    print(json.dumps(answer(sys.argv[1:])))
