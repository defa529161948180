"""Modules of the user's own travel with a job, with those they import from beside them; a missing one is named."""

import pytest

from cluster.jobs import own_sources
from operators import InputError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("G2D2_MODULES", raising=False)
    return tmp_path


def write(folder, **files):
    for name, text in files.items():
        file = folder / f"{name.replace('__', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def test_a_module_of_the_working_directory_and_what_it_imports_from_there(folder):
    write(folder, mine_1="import numpy\nfrom helper_1 import x\n", helper_1="import json, far_1.deep\n", far_1__deep="")
    write(folder, other_1="raise RuntimeError", json="raise RuntimeError", numpy="raise RuntimeError")
    assert own_sources({"mine_1": "solver.method"}) == {
        "mine_1.py": folder / "mine_1.py",
        "helper_1.py": folder / "helper_1.py",
        "far_1": folder / "far_1",
    }


def test_a_package_travels_whole(folder):
    write(folder, pack_1____init__="", pack_1__solver="from . import inner\nimport pack_1.inner", pack_1__inner="")
    assert own_sources({"pack_1.solver": "solver.method"}) == {"pack_1": folder / "pack_1"}
    with pytest.raises(InputError, match=r"metrics: the module 'pack_1\.none' cannot be found in .*pack_1; correct"):
        own_sources({"pack_1.none": "metrics"})


def test_python_finds_what_is_on_its_path_or_in_the_named_folder(folder, monkeypatch):
    write(folder, here__on_path_1="", there__named_1="")
    monkeypatch.syspath_prepend(folder / "here")
    monkeypatch.setenv("G2D2_MODULES", str(folder / "there"))
    found = own_sources({"on_path_1": "prior", "named_1": "metrics"})
    assert found == {"on_path_1.py": folder / "here" / "on_path_1.py", "named_1.py": folder / "there" / "named_1.py"}


def test_what_is_installed_or_ours_stays(folder):
    assert own_sources({"numpy.linalg": "metrics", "json": "prior", "sys": "prior", "g2d2.solver": "method"}) == {}


def test_a_module_that_is_nowhere_is_named_with_the_key_that_names_it(folder):
    with pytest.raises(InputError, match=r"solver\.method: the module 'no_such_1\.x' cannot be found.*G2D2_MODULES"):
        own_sources({"no_such_1.x": "solver.method"})


def test_a_module_that_is_no_python_still_travels(folder):
    write(folder, broken_1="def (")
    assert own_sources({"broken_1": "solver.method"}) == {"broken_1.py": folder / "broken_1.py"}
