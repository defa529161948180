"""Methods without a prior: better than the measurement itself, exact where they must be."""

import pytest
import torch

from g2d2.methods import METHODS, Method, find_method
from g2d2.methods.bicubic import Bicubic
from g2d2.methods.wiener import Wiener
from operators import TASKS, InputError, build_operator, measure, stack_operators


@pytest.fixture(scope="module")
def photograph():
    from skimage.data import astronaut

    image = torch.from_numpy(astronaut()).permute(2, 0, 1).float() / 127.5 - 1
    return torch.nn.functional.avg_pool2d(image.unsqueeze(0), 16)


def error(x, truth):
    return (x - truth).square().mean().item()


def restore(method, operator, y, **changes):
    return method.run(None, operator, y, method.settings(**changes), seeds=range(len(y))).x


def wiener_by_hand(operator, y, ratio):
    dense = operator.dense()
    damped = dense.T @ dense + ratio * torch.eye(dense.shape[1], dtype=torch.float64)
    return torch.linalg.solve(damped, dense.T @ y.double().flatten()).clamp(-1, 1)


@pytest.mark.parametrize("ratio", [None, 0.1])
def test_the_wiener_filter_sharpens_and_does_not_amplify_noise(photograph, ratio):
    operator = TASKS["gaussian-deblur-32"].build()
    y = measure(operator, photograph, sigma=0.05, seeds=[0])
    restored = restore(Wiener(), operator, y, **({} if ratio is None else {"noise_to_signal": ratio}))
    expected = wiener_by_hand(operator, y, ratio or 0.02)
    assert torch.allclose(restored.flatten().double(), expected, atol=1e-5)
    assert ratio is not None or error(restored, photograph) < error(y, photograph)


def test_rows_have_an_operator_and_a_noise_of_their_own(photograph):
    operators = [build_operator("gaussian_blur", {"kernel_size": 9, "std": std}, x_shape=(3, 32, 32)) for std in (1, 2)]
    y = torch.cat([measure(operator, photograph, sigma=0.05, seeds=[0]) for operator in operators])
    method = Wiener()
    rows = [method.settings(noise_to_signal=ratio) for ratio in (0.02, 0.3)]
    together = method.run(None, stack_operators(operators), y, rows, seeds=[0, 1]).x
    for i in range(2):
        alone = method.run(None, operators[i], y[i : i + 1], rows[i], seeds=[0]).x
        assert torch.allclose(alone[0], together[i], atol=1e-6)
    assert not torch.allclose(together[0], together[1], atol=1e-2)


def test_bicubic_enlarges(photograph):
    operator = TASKS["sr4-32"].build()
    y = measure(operator, photograph, sigma=0.0, seeds=[0])
    restored = restore(Bicubic(), operator, y)
    assert restored.shape == photograph.shape
    assert error(restored, photograph) < error(y.repeat_interleave(4, 2).repeat_interleave(4, 3), photograph)


def test_what_a_method_cannot_do_is_one_sentence():
    motion = build_operator("motion_blur", {}, x_shape=(3, 32, 32))
    with pytest.raises(InputError, match="'wiener' needs one that is spectral, and motion_blur is not"):
        restore(Wiener(), motion, torch.zeros(1, 3, 32, 32))


def test_every_known_method_is_found_by_its_name():
    assert {"g2d2", "wiener", "bicubic"} <= set(METHODS.names())
    for name in METHODS.names():
        assert isinstance(find_method(name), Method)
        assert find_method(name).name == name
    with pytest.raises(InputError, match="method is 'nonsense'"):
        find_method("nonsense")
