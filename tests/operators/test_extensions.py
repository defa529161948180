"""Things by name: our own, those of installed packages, and `module:thing` of the user's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from operators import InputError, Operator, build_operator, operator_names, operator_settings, stack_operators
from operators.extensions import FOLDER_VARIABLE, Extensions, own_modules, subclass_of
from operators.registry import OPERATORS

ROOT = Path(__file__).parents[2]
MODULE = '''
"""Operators of the user's own."""
import torch
from pydantic import Field

from operators import Linear, Operator, OperatorSettings


class GainSettings(OperatorSettings):
    gain: float = Field(2.0, gt=0)


class Gain(Linear):
    """Every pixel times a number."""

    name = "gain"
    settings_model = GainSettings

    def __init__(self, settings, x_shape):
        super().__init__(settings, x_shape)
        self.register_buffer("gain", torch.tensor([[[[settings.gain]]]], dtype=torch.float64))

    def _apply_forward(self, x):
        return x * self.gain.to(x)

    _apply_adjoint = _apply_forward


class Nameless(Gain):
    """It is called by its class."""


class Group:
    Inner = Gain


number = 3
instance = Gain(GainSettings(), (1, 2, 2))
'''


def sentence(call, *args):
    with pytest.raises(InputError) as error:
        call(*args)
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith(".")
    return text


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module in the working directory, which is not on the path."""
    name = f"own_operators_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    yield name
    sys.modules.pop(name, None)
    sys.path[:] = [place for place in sys.path if place != str(tmp_path)]


def test_one_of_the_users_own_is_built_like_ours(module):
    name = f"{module}:Gain"
    assert operator_settings(name).model_fields.keys() == {"gain"}
    ops = [build_operator(name, {"gain": gain}, x_shape=(3, 4, 4)) for gain in (1.0, 3.0)]
    x = torch.ones(2, 3, 4, 4)
    assert stack_operators(ops)(x).amax(dim=(1, 2, 3)).tolist() == [1.0, 3.0]
    assert ops[0].name == "gain"
    assert build_operator(f"{module}:Nameless", x_shape=(3, 4, 4)).name == "Nameless"
    assert build_operator(f"{module}:Group.Inner", x_shape=(3, 4, 4)).name == "gain"
    assert "gain: gain is -1: it must be greater than 0" in sentence(
        lambda: build_operator(name, {"gain": -1}, x_shape=(3, 4, 4))
    ).replace(name, "gain")
    assert name not in operator_names()


def test_the_folder_of_modules_can_be_named(module, tmp_path, monkeypatch):
    """Workers of a cluster run elsewhere and inherit the variable."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert own_modules() == str(tmp_path / "elsewhere")
    assert f"No module named '{module}'" in sentence(operator_settings, f"{module}:Gain")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert own_modules() == str(tmp_path)
    operator_settings(f"{module}:Gain")


def test_a_module_of_the_users_own_hides_no_installed_one(module, tmp_path):
    (tmp_path / "colorsys.py").write_text("raise RuntimeError('hidden')")
    sys.modules.pop("colorsys", None)
    operator_settings(f"{module}:Gain")  # the folder is on the path now
    import colorsys

    assert Path(colorsys.__file__).parent != tmp_path
    assert "it must be a subclass of operators.base.Operator" in sentence(OPERATORS.find, "colorsys:rgb_to_hsv")


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        ("number", "is 3; it must be a subclass of operators.base.Operator"),
        ("instance", "it must be a subclass of operators.base.Operator"),
        ("GainSettings", "it must be a subclass of operators.base.Operator"),
        ("Absent", "cannot be loaded (module '"),
        ("Gain.absent", "cannot be loaded (type object 'Gain' has no attribute 'absent')"),
    ],
)
def test_what_is_no_operator_is_one_sentence(module, thing, words):
    text = sentence(OPERATORS.find, f"{module}:{thing}")
    assert text.startswith(f"operator: '{module}:{thing}' ")
    assert words in text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("raise RuntimeError('two\\nlines')", "raised RuntimeError: "),
        ("import sys; sys.exit(3)", "raised SystemExit: '3'"),
        ("import no_such_library", "No module named 'no_such_library'"),
        ("def (:", "raised SyntaxError"),
        ("x = [", "raised SyntaxError"),
        ("import operators; operators.build_operator('nothing', x_shape=(1, 1, 1))", "operator is 'nothing'"),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_sentence(module, tmp_path, content, words):
    (tmp_path / f"{module}_bad.py").write_text(content)
    assert words in sentence(OPERATORS.find, f"{module}_bad:Thing")
    sys.modules.pop(f"{module}_bad", None)


@pytest.mark.parametrize("name", ["nothing", "", "a b:c", "a:", ":b", "a:b:c", "../a:b", "a-b:c", "a:b c"])
def test_a_name_that_is_none_lists_what_there_is(name):
    assert not OPERATORS.known(name)
    text = sentence(OPERATORS.find, name)
    assert text.startswith(f"operator is {name!r}")
    assert "it must be one of box_inpainting, gaussian_blur" in text
    assert text.endswith("or module:thing for one of your own.")


def test_a_near_name_is_proposed():
    assert "(did you mean 'gaussian_blur'?)" in sentence(OPERATORS.find, "gausian_blur")


def test_an_installed_package_adds_names_and_takes_none_of_ours(module, tmp_path):
    info = tmp_path / "gains-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gains\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[g2d2.operators]\ngain = {module}:Gain\nidentity = {module}:Gain\nlost = {module}:Lost\n"
    )
    code = (
        "from operators import InputError, build_operator, operator_names\n"
        "print(operator_names())\n"
        "print(*(type(build_operator(name, x_shape=(1, 2, 2))).__name__ for name in ('gain', 'identity')))\n"
        "try: build_operator('lost', x_shape=(1, 2, 2))\n"
        "except InputError as error: print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    names, kinds, refusal, *_ = [*done.stdout.splitlines(), "", ""]
    assert {"gain", "lost", *operator_names()} == set(eval(names)), done.stderr
    assert kinds == "Gain Identity"
    assert refusal.startswith("operator: 'lost' cannot be loaded (module '")


def test_names_are_known_without_importing_what_is_behind_them():
    code = "import sys\nfrom operators.registry import OPERATORS\nOPERATORS.names()\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.stdout.strip() == "False", done.stderr


def test_what_was_found_is_not_looked_for_again(monkeypatch):
    things = Extensions("shape", "g2d2.no_such_group", {"one": "operators.base:Operator"}, subclass_of(Operator))
    assert things.find("one") is Operator
    monkeypatch.setattr("operators.extensions._import", lambda module: pytest.fail("imported again"))
    assert things.find("one") is Operator
    assert things.names() == ("one",)
