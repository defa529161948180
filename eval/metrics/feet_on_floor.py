"""Whether feet are on the floor at all: without it a body that floats has the feet that slide least."""

from typing import ClassVar

from torch import Tensor

from eval.metrics.base import RowMetric, Scored
from eval.metrics.info import Need
from operators.skeleton import joints_from_features
from operators.skeleton.feet_heights import low_toes


class FeetOnFloor(RowMetric):
    """The share of a clip's frames in which a toe is on the floor. Nothing ranks by it: who jumps is not worse."""

    name = "feet_on_floor"
    summary = "share of frames with a toe below 5 cm; to be held against that of the real ones"
    share = True
    signals = ("motion",)
    needs: ClassVar[tuple[Need, ...]] = ()

    def rows(self, truth: Tensor, x: Tensor, scored: Scored) -> Tensor:
        return low_toes(joints_from_features(x.double())).any(dim=-1).double().mean(1)
