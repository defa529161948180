"""Few rows are multiplied like many, value and gradient, to the last bit."""

import pytest
import torch

from operators.few_rows import ENOUGH_ROWS, times


@pytest.mark.parametrize(("inner", "outer"), [(2, 8), (8, 2), (8, 8), (96, 32), (128, 128), (512, 64)])
def test_a_row_has_the_same_bits_however_many_there_are(inner, outer):
    torch.manual_seed(0)
    matrix, weights = torch.randn(inner, outer), torch.linspace(-1, 1, outer)
    whole = torch.randn(2 * ENOUGH_ROWS, inner, requires_grad=True)
    expected = times(whole, matrix)
    (gradient,) = torch.autograd.grad((expected * weights).sum(), whole)
    for count in (1, 2, 3, 5, 7, 11, ENOUGH_ROWS - 1, ENOUGH_ROWS):
        some = whole[:count].detach().requires_grad_()
        product = times(some, matrix)
        assert torch.equal(product, expected[:count])
        assert torch.equal(torch.autograd.grad((product * weights).sum(), some)[0], gradient[:count])


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (2, 2, 3), (20, 3)])
def test_shapes_are_those_of_a_product(shape):
    x, matrix = torch.randn(shape), torch.randn(3, 5)
    torch.testing.assert_close(times(x, matrix), x @ matrix)
