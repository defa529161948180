"""Paths that no file can have are refused in a sentence, wherever a command takes one."""

import pytest

from pipelines import cli

STRANGE = ["~nouser/x", "file:///%00", "file:///a%0Ab", "a\ud800b", "s3://bucket/a\ud800", "s3://bucket/a\x1b"]


@pytest.mark.parametrize("path", STRANGE)
@pytest.mark.parametrize(
    "words", [["status"], ["report"], ["manifest", "show"], ["prior", "info"], ["prior", "check"], ["compare", "x"]]
)
def test_a_path_that_cannot_be_is_one_sentence(words, path, capsys):
    assert cli.main([*words, path]) == 2
    printed = capsys.readouterr().err.strip()
    assert printed.startswith(f"g2d2 {words[0]}: ")
    assert "\n" not in printed


@pytest.mark.parametrize("key", ["manifest", "prior", "output"])
@pytest.mark.parametrize("path", ["~nouser/x", "file:///%00"])
def test_a_specification_with_such_a_path_is_one_sentence(key, path, tmp_path, small_manifest, tiny_prior, capsys):
    values = {"name": "x", "manifest": small_manifest, "prior": tiny_prior, "output": tmp_path / "out"} | {key: path}
    (tmp_path / "s.yaml").write_text("".join(f"{name}: {value}\n" for name, value in values.items()))
    assert cli.main(["plan", str(tmp_path / "s.yaml"), "--no-calibration"]) == 2
    printed = capsys.readouterr().err.strip()
    assert printed.startswith("g2d2 plan: ")
    assert "\n" not in printed
