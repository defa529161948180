"""Networks that embed motions and texts side by side, by name: what sets of motions are compared with."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from eval.distribution.motion_names import EMBEDDED, T2M
from eval.distribution.results import Unavailable
from operators.errors import InputError
from operators.extensions import Extensions, subclass_of

_TOGETHER = 64

Embedded = NDArray[np.float32]
AnyItem = TypeVar("AnyItem")


class MotionEvaluator:
    """Embeds motions and texts in one space. A subclass has a name and implements both."""

    name: ClassVar[str]
    """Part of the names of its numbers."""

    def motions(self, clips: Sequence[Tensor]) -> Embedded:
        """(N, E) of unnormalised features (F, 263) of any lengths."""
        raise NotImplementedError

    def texts(self, prompts: Sequence[str]) -> Embedded:
        """(N, E) of prompts."""
        raise NotImplementedError


def _not_an_evaluator(thing: Any) -> str | None:
    if problem := subclass_of(MotionEvaluator)(thing):
        return problem
    name = getattr(thing, "name", None)
    return None if isinstance(name, str) and name.isidentifier() else "needs a name of letters, digits and underscores"


EVALUATORS: Extensions[type[MotionEvaluator]] = Extensions(
    "evaluator",
    "g2d2.motion_evaluators",
    {
        EMBEDDED: "eval.motion_matching.cmu_evaluator:CmuEvaluator",
        T2M: "eval.motion_matching.t2m_evaluator:T2MEvaluator",
    },
    _not_an_evaluator,
)


def open_evaluator(named: str) -> MotionEvaluator:
    """The evaluator of a known name, of `t2m:FOLDER`, or of `module:thing`; an InputError says why there is none."""
    if named.startswith(f"{T2M}:"):
        from eval.motion_matching.t2m_evaluator import T2MEvaluator

        return T2MEvaluator(Path(named.partition(":")[2]))
    return EVALUATORS.find(named)()


def load_evaluator(name: str) -> MotionEvaluator | Unavailable:
    """The evaluator of a known name, once per process; one that is not there is looked for again the next time."""
    try:
        return _loaded(name)
    except InputError as error:
        return Unavailable(str(error))


_loaded = cache(open_evaluator)


def embedded_in_parts(items: Sequence[AnyItem], embed: Callable[[Sequence[AnyItem]], Tensor]) -> Embedded:
    """Embeddings (N, E) of all items, some at once."""
    parts = [embed(items[start : start + _TOGETHER]).numpy() for start in range(0, len(items), _TOGETHER)]
    return np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)
