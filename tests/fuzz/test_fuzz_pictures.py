"""Pictures and measurements in odd modes, damaged and cut short: each alone is refused, and costs no other."""

import json

import pytest

from tests.fuzz.cases import amounts, each_case
from tests.fuzz.odd_pictures import OPERATOR, measurements, picture, pictures
from tests.fuzz.oracle import g2d2

QUICK = [*OPERATOR, "steps=2", "iterations=1", "guidance=1"]


@pytest.fixture
def good(tmp_path):
    """A folder with two pictures that are well."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name in ("a", "z"):
        (folder / f"{name}.png").write_bytes(picture())
    return folder


@amounts(quick=40, slow=2000)
def test_a_manifest_is_built_without_what_is_bad(examples, good, tmp_path):
    def check(case):
        ending, content = case
        path = good / f"odd.{ending}"
        path.write_bytes(content)
        try:
            options = ["--resize"] if len(content) % 2 else []
            built = g2d2("manifest", "build", good, "manifest", *OPERATOR, "--image-size", 8, "--overwrite", *options)
        finally:
            path.unlink()
        assert built.code in (0, 1), built
        shown = json.loads(g2d2("manifest", "show", "manifest", "--json").out)
        assert shown["rows"] == 3 - built.code
        assert g2d2("manifest", "check", "manifest").code == 0

    each_case(examples, pictures(), check)


@amounts(quick=50, slow=1000)
def test_pictures_are_measured_one_by_one(examples, good, tmp_path):
    def check(case):
        ending, content = case
        path = tmp_path / f"odd.{ending}"
        path.write_bytes(content)
        g2d2("measure", path, good / "a.png", *OPERATOR, "--out", tmp_path / "measured")

    each_case(examples, pictures(), check)


@amounts(quick=12, slow=300)
def test_a_good_picture_is_solved_beside_a_bad_one(examples, good, tiny_prior, tmp_path):
    def check(case):
        ending, content = case
        path = tmp_path / f"odd.{ending}"
        path.write_bytes(content)
        words = ["--prior", tiny_prior, "--out", tmp_path / "solved", "--again", *QUICK]
        for file in (tmp_path / "solved").glob("a.*"):
            file.unlink()
        solved = g2d2("solve", path, good / "a.png", *words)
        assert solved.code in (0, 1), solved
        assert (tmp_path / "solved" / "a.json").exists()

    each_case(examples, pictures(), check)


@amounts(quick=20, slow=500)
def test_stored_measurements(examples, tiny_prior, tmp_path):
    def check(content):
        (tmp_path / "y.npy").write_bytes(content)
        words = ["--measured", "--prior", tiny_prior, "--out", tmp_path / "solved", "--again", *QUICK]
        g2d2("solve", tmp_path / "y.npy", *words)

    each_case(examples, measurements(), check)
