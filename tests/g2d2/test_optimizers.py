"""The row-wise optimisers against torch's own."""

import pytest
import torch

from g2d2.optimizers import RowOptimizer, rectification

TORCH = {"radam": torch.optim.RAdam, "adam": torch.optim.Adam}


@pytest.mark.parametrize("name", TORCH)
def test_equals_torch_when_all_rows_share_one_rate(name):
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(3, 4, 5, dtype=torch.float64, generator=generator)
    reference = start.clone().requires_grad_()
    theirs = TORCH[name]([reference], lr=0.7)
    ours, variable = RowOptimizer(name, start), start.clone()
    for _ in range(40):
        gradient = torch.randn(3, 4, 5, dtype=torch.float64, generator=generator)
        reference.grad = gradient.clone()
        theirs.step()
        ours.update_(variable, gradient, torch.tensor(0.7, dtype=torch.float64))
        torch.testing.assert_close(variable, reference.detach(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", TORCH)
def test_each_row_follows_its_own_rate(name):
    generator = torch.Generator().manual_seed(1)
    rates = torch.tensor([0.1, 1.0, 10.0]).view(3, 1)
    together, alone = torch.zeros(3, 4), [torch.zeros(1, 4) for _ in range(3)]
    batch, single = RowOptimizer(name, together), [RowOptimizer(name, row) for row in alone]
    for _ in range(10):
        gradient = torch.randn(3, 4, generator=generator)
        batch.update_(together, gradient, rates)
        for i in range(3):
            single[i].update_(alone[i], gradient[i : i + 1], rates[i : i + 1])
    torch.testing.assert_close(together, torch.cat(alone))


def test_radam_is_plain_momentum_for_five_iterations():
    assert [rectification(i) is None for i in range(1, 8)] == [True] * 5 + [False] * 2
    assert rectification(6) == pytest.approx(0.026, abs=5e-4)
    assert rectification(30) == pytest.approx(0.110, abs=5e-4)


@pytest.mark.parametrize("name", TORCH)
def test_faded_moments_keep_their_unbiased_values(name):
    """So that with a constant gradient an update is what it was, and with none kept a fresh optimiser's."""
    gradient, rate = torch.full((1, 3), 2.0, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64)
    optimizer, fresh = RowOptimizer(name, gradient), RowOptimizer(name, gradient)
    for _ in range(40):
        optimizer.update_(torch.zeros_like(gradient), gradient, rate)
    optimizer.fade_(0.5)
    assert optimizer.count == 20
    torch.testing.assert_close(optimizer.mean / (1 - 0.9**20), gradient)
    torch.testing.assert_close(optimizer.square / (1 - 0.999**20), gradient.square())
    optimizer.fade_(0.0)
    for _ in range(7):
        updates = [one.update_(torch.zeros_like(gradient), gradient, rate) for one in (optimizer, fresh)]
        assert torch.equal(*updates)


@pytest.mark.parametrize("kept", [1.0, 0.5])
@pytest.mark.parametrize("name", TORCH)
def test_counts_per_row_change_no_bit_where_all_move(name, kept):
    generator = torch.Generator().manual_seed(2)
    common, own = (RowOptimizer(name, torch.zeros(3, 4, 5), own_counts=own) for own in (False, True))
    first, second = torch.zeros(3, 4, 5), torch.zeros(3, 4, 5)
    rate = torch.tensor([0.3, 1.0, 20.0]).view(3, 1, 1)
    for _ in range(4):
        for _ in range(6):
            gradient = torch.randn(3, 4, 5, generator=generator)
            common.update_(first, gradient, rate)
            own.update_(second, gradient, rate)
            assert torch.equal(first, second)
        common.fade_(kept)
        own.fade_(kept)


@pytest.mark.parametrize("name", TORCH)
def test_what_rests_has_the_moments_and_the_count_it_had(name):
    """A row that rested and one that was never asked go on alike."""
    generator = torch.Generator().manual_seed(3)
    gradients = torch.randn(12, 2, 4, 5, generator=generator)
    rate = torch.ones(2, 1, 1)
    rested, alone = RowOptimizer(name, gradients[0], True), RowOptimizer(name, gradients[0, :1], True)
    variable, single = torch.zeros(2, 4, 5), torch.zeros(1, 4, 5)
    for step, gradient in enumerate(gradients):
        moves = torch.tensor([step % 3 > 0, True]).view(2, 1, 1)
        kept = variable.clone()
        rested.update_(variable, gradient, rate, moves)
        variable = torch.where(moves, variable, kept)
        if step % 3:
            alone.update_(single, gradient[:1], rate[:1])
        assert torch.equal(variable[:1], single)
        assert torch.equal(rested.mean[:1], alone.mean)
        assert torch.equal(rested.square[:1], alone.square)
    assert rested.count.flatten().tolist() == [8, 12]


def test_a_row_that_never_moved_has_no_moments_to_fade():
    optimizer = RowOptimizer("radam", torch.zeros(2, 3), own_counts=True)
    moving = torch.tensor([[False], [True]])
    optimizer.update_(torch.zeros(2, 3), torch.ones(2, 3), torch.ones(2, 1), moving)
    optimizer.fade_(0.5)
    assert optimizer.count.flatten().tolist() == [0, 0.5]
    assert optimizer.mean[0].tolist() == [0] * 3
    assert (optimizer.mean[1] > 0).all()


def test_some_rows_are_taken_out_and_put_back():
    whole = RowOptimizer("adam", torch.zeros(3, 2), own_counts=True)
    part = whole.select(rows := torch.tensor([0, 2]))
    part.update_(torch.zeros(2, 2), torch.ones(2, 2), torch.ones(2, 1))
    assert whole.mean.abs().sum() == 0
    whole.put_(rows, part)
    assert whole.count.flatten().tolist() == [1, 0, 1]
    assert whole.mean[:, 0].tolist() == pytest.approx([0.1, 0, 0.1])
