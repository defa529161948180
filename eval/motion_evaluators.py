"""Networks that embed motions and texts side by side, by name: what sets of motions are compared with."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from operators.extensions import Extensions, subclass_of


class MotionEvaluator:
    """Embeds motions and texts in one space. A subclass has a name and implements both."""

    name: ClassVar[str]
    """Part of the names of its numbers, but for `t2m`, whose numbers carry the published names."""

    def motions(self, clips: Sequence[Tensor]) -> NDArray[np.float32]:
        """(N, E) of unnormalised features (F, 263) of any lengths."""
        raise NotImplementedError

    def texts(self, prompts: Sequence[str]) -> NDArray[np.float32]:
        """(N, E) of prompts."""
        raise NotImplementedError


def _not_an_evaluator(thing: Any) -> str | None:
    if problem := subclass_of(MotionEvaluator)(thing):
        return problem
    name = getattr(thing, "name", None)
    return None if isinstance(name, str) and name.isidentifier() else "needs a name of letters, digits and underscores"


EVALUATORS: Extensions[type[MotionEvaluator]] = Extensions("evaluator", "g2d2.motion_evaluators", {}, _not_an_evaluator)
