"""What x is: pictures, and signals of another length in every row."""

import pytest
import torch

from operators import InputError, Linear, OperatorSettings, Signal, build_operator, find_signal, stack_operators
from operators.signals import SIGNALS

RAGGED = f"{__name__}:Walk"


class Walk(Signal):
    """So many steps of three numbers each."""

    name = "walk"
    ragged = True


class Last(Linear):
    """Sees the last step of every walk."""

    signal = RAGGED

    def __init__(self, settings, x_shape):
        super().__init__(settings, x_shape, (1, *x_shape[1:]))
        here = torch.zeros(1, x_shape[0], 1, dtype=torch.float64)
        here[:, -1] = 1
        self.register_buffer("here", here)

    def _apply_forward(self, x):
        return (x * self.here.to(x)).sum(1, keepdim=True)

    def _apply_adjoint(self, y):
        return y * self.here.to(y)


@pytest.fixture(autouse=True)
def known_here(monkeypatch):
    """Tests are imported by no name that another module could use."""
    monkeypatch.setitem(SIGNALS._found, RAGGED, Walk)


def test_pictures_come_back_as_they_were_stored():
    image = find_signal("image")
    x = torch.linspace(-1, 1, 3 * 4 * 5).view(3, 4, 5)
    stored = image.decode(image.encode(x), "x")
    torch.testing.assert_close(stored, x, atol=1.01 / 127.5, rtol=0)
    assert torch.equal(image.decode(image.encode(stored), "x"), stored)
    assert image.preview(x) == image.encode(x)
    with pytest.raises(InputError, match="this row: it cannot be read as a picture"):
        image.decode(b"no picture", "this row")


def test_what_is_no_picture_is_said():
    image = find_signal("image")
    assert image.problem(torch.zeros(3, 4, 4)) is None
    assert image.problem(torch.full((3, 4, 4), 1.0005)) is None
    assert "leaves [-1, 1] by 0.5" in image.problem(torch.full((3, 4, 4), 1.5))
    assert "48 NaN" in image.problem(torch.full((3, 4, 4), torch.nan))
    assert image.clip(torch.full((1,), 3.0)).item() == 1
    assert image.words((3, 32, 32)) == "32x32 with 3 channels"
    with pytest.raises(InputError, match="no side may be above"):
        image.check_shape((3, 2**15, 4))


def test_a_signal_has_positive_sides():
    walk = find_signal(RAGGED)
    assert walk.check_shape([5, 3]) == (5, 3)
    assert walk.words((5, 3)) == "of shape 5x3"
    for shape in ((), (0, 3), (2.0, 3)):
        with pytest.raises(InputError, match="a signal 'walk' has positive whole sides"):
            walk.check_shape(shape)


def test_rows_of_different_lengths_share_a_batch_by_zeros_at_their_ends():
    walk = find_signal(RAGGED)
    rows = [torch.ones(length, 3) for length in (2, 5, 1)]
    batch = walk.stack(rows)
    assert batch.shape == (3, 5, 3)
    assert batch.sum(dim=(1, 2)).tolist() == [6, 15, 3]
    assert walk.batch_shape((2, 3)) == walk.batch_shape((5, 3)) == (3,)
    assert find_signal("image").batch_shape((3, 4, 5)) == (3, 4, 5)


def test_operators_of_different_lengths_stack_and_a_row_keeps_its_own():
    ops = [Last(OperatorSettings(), (length, 3)) for length in (2, 5, 4)]
    stacked = stack_operators(ops)
    assert stacked.x_shape == (5, 3)
    assert stacked.x_shapes(3) == [(2, 3), (5, 3), (4, 3)]
    rows = [torch.randn(length, 3, generator=torch.Generator().manual_seed(length)) for length in (2, 5, 4)]
    y = stacked(find_signal(RAGGED).stack(rows))
    torch.testing.assert_close(y, torch.stack([row[-1:] for row in rows]))
    part = stacked.select(slice(1, 3))
    assert part.row_shapes == ((5, 3), (4, 3))
    assert stack_operators([ops[0], ops[0]]) is ops[0]
    assert ops[0].x_shapes(4) == [(2, 3)] * 4
    with pytest.raises(InputError, match="x_shape of row 1"):
        stack_operators([ops[0], Last(OperatorSettings(), (2, 4))])


def test_an_unknown_signal_is_one_sentence():
    with pytest.raises(InputError, match="signal is 'sound': it must be one of image, motion, or module:thing"):
        find_signal("sound")
    with pytest.raises(InputError, match=r"it must be a subclass of operators\.signals\.base\.Signal"):
        find_signal("operators.base:Operator")
    assert build_operator("identity", x_shape=(1, 2, 2)).signal == "image"
