"""The measurement enlarged to the image's size: what every method must beat."""

from torch import Tensor
from torch.nn import functional as F

from g2d2.methods.base import Batch, Method
from g2d2.methods.recording import Recorder
from g2d2.methods.settings import MethodSettings
from operators import InputError, Operator


class Bicubic(Method[MethodSettings, None]):
    """Bicubic interpolation of y, for measurements that are pictures themselves."""

    name = "bicubic"

    def restore(self, prior: None, batch: Batch[MethodSettings], record: Recorder) -> Tensor:
        size = batch.operator.x_shape[1:]
        return F.interpolate(batch.y.double(), size=size, mode="bicubic", align_corners=False).clamp(-1, 1).float()

    def check_operator(self, operator: Operator) -> None:
        super().check_operator(operator)
        pictures = (
            operator.signal == "image" and len(operator.y_shape) == 3 and operator.y_shape[0] == operator.x_shape[0]
        )
        if not pictures:
            raise InputError(f"operator: method 'bicubic' enlarges pictures, and {operator.name} does not make them.")
