"""A^T (A A^T + rho I)^-1 r against dense linear algebra, by singular values and by conjugate gradients."""

import pytest
import torch

from g2d2.damped_inverse import damped_inverse
from operators import Linear, build_operator, stack_operators

SHAPE = (1, 6, 6)
OPERATORS = {
    "identity": {},
    "super_resolution": {"factor": 2},
    "gaussian_blur": {"kernel_size": 5, "std": 0.8},
    "motion_blur": {"kernel_size": 3, "angle": 30.0},
    "random_inpainting": {"keep": 0.5},
}
RHO = torch.tensor([0.0, 0.01, 1.0], dtype=torch.float64).view(-1, 1, 1, 1)


def dense(operator, r, rho):
    A = operator.dense()
    rows = []
    for vector, weight in zip(r.flatten(1), rho.flatten(), strict=True):
        system = A @ A.T + weight * torch.eye(len(A), dtype=torch.float64)
        rows.append(A.T @ torch.linalg.pinv(system, rtol=1e-11, hermitian=True) @ vector)
    return torch.stack(rows).view(-1, *SHAPE)


@pytest.mark.parametrize("name", OPERATORS)
def test_it_is_the_dense_solution(name):
    operator = build_operator(name, OPERATORS[name], x_shape=SHAPE)
    x = torch.randn(3, *SHAPE, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    r = operator(x)
    expected = dense(operator, r, RHO)
    torch.testing.assert_close(damped_inverse(operator, r, 200)(r, RHO), expected, rtol=1e-5, atol=1e-6)


def test_the_two_roads_agree():
    operator = build_operator("gaussian_blur", OPERATORS["gaussian_blur"], x_shape=SHAPE)
    r = operator(torch.randn(3, *SHAPE, generator=torch.Generator().manual_seed(1), dtype=torch.float64))
    exact = damped_inverse(operator, r, 1)(r, RHO[1:2])

    class Plain(Linear):  # the same operator, its singular values hidden
        def __init__(self):
            super().__init__(operator.settings, SHAPE)

        def _apply_forward(self, x):
            return operator(x)

        def _apply_adjoint(self, y):
            return operator.adjoint(y)

    torch.testing.assert_close(damped_inverse(Plain(), r, 100)(r, RHO[1:2]), exact, rtol=1e-8, atol=1e-10)


def test_rows_that_need_no_more_stay_as_they_are():
    """A row that is solved, or has nothing to solve, is not disturbed by those that are not."""
    operator = build_operator("motion_blur", OPERATORS["motion_blur"], x_shape=SHAPE)
    r = operator(torch.randn(2, *SHAPE, generator=torch.Generator().manual_seed(2), dtype=torch.float64))
    r[1] = 0
    solved = damped_inverse(operator, r, 300)(r, RHO[1:2])
    assert solved.isfinite().all()
    assert torch.equal(solved[1], torch.zeros_like(solved[1]))


def test_operators_of_several_rows():
    single = [build_operator("random_inpainting", {"keep": 0.5, "seed": seed}, x_shape=SHAPE) for seed in (1, 2)]
    r = stack_operators(single)(torch.ones(2, *SHAPE, dtype=torch.float64))
    together = damped_inverse(stack_operators(single), r, 1)(r, RHO[1:2])
    for row, operator in enumerate(single):
        torch.testing.assert_close(together[row : row + 1], dense(operator, r[row : row + 1], RHO[1:2]))
