"""What docs/extending.md shows of entry points: a package that declares them so is found by these names."""

import re
import tomllib
from pathlib import Path

import pytest

from operators import InputError
from operators.extensions import Extensions

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text()
(SNIPPET,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
GROUPS = tomllib.loads(SNIPPET)["project"]["entry-points"]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package with the entry points of the page, as pip would leave it."""
    metadata = tmp_path / "my_lab-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: my-lab\nVersion: 1\n")
    lines = [f"[{group}]\n{name} = {place}" for group, points in GROUPS.items() for name, place in points.items()]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    (tmp_path / "my_lab").mkdir()
    for points in GROUPS.values():
        for place in points.values():
            module, _, thing = place.partition(":")
            (tmp_path / f"{module.replace('.', '/')}.py").write_text(f"class {thing}: ...\n")
    monkeypatch.syspath_prepend(tmp_path)


def test_the_groups_are_those_that_the_page_explains():
    assert set(GROUPS) == {f"g2d2.{kind}" for kind in ("operators", "signals", "methods", "families", "metrics")}
    assert set(re.findall(r"^\| `(g2d2\.\w+)`", PAGE, flags=re.MULTILINE)) == set(GROUPS)


@pytest.mark.parametrize("group", GROUPS)
def test_an_installed_package_is_found_by_its_names(group, installed):
    ((name, place),) = GROUPS[group].items()
    things = Extensions("thing", group, {"ours": "nowhere:at_all"}, lambda thing: None)
    assert things.names() == tuple(sorted(["ours", name]))
    assert things.find(name).__name__ == place.partition(":")[2]
    with pytest.raises(InputError, match=re.escape(f"did you mean {name!r}?")):
        things.find(f"{name}x")
