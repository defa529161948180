"""YAML from people: what is read, and what is refused in one sentence that names its line."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from operators import InputError
from operators.plain_yaml import MAX_BYTES, parse_yaml, read_yaml

ROOT = Path(__file__).parents[2]
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 2000))
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 20)}]}}\n"
    for before, name in zip("abcde", "bcdef", strict=True)
)


def test_plain_values_are_read_as_before():
    text = "a: {b: [1, 2.5, yes, ~, x]}\nc: &here 0x10\nd: *here\ne: {<<: {f: 1}, f: 2}\n"
    assert parse_yaml(text, "it").content == {"a": {"b": [1, 2.5, True, None, "x"]}, "c": 16, "d": 16, "e": {"f": 2}}


def test_a_day_is_text():
    assert parse_yaml("name: 2026-02-30", "it").content == {"name": "2026-02-30"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: 1\nb: [1,\n", "line 3, column 1: it is not YAML"),
        ("a: 1\n  b: 2", "line 2, column 4: it is not YAML (mapping values are not allowed here)."),
        ("a: 1\nb: !!int foo", "line 2, column 4: 'foo' cannot be read as int."),
        ("a: !!bool foo", "line 1, column 4: 'foo' cannot be read as bool."),
        ("a: !!float ''", "line 1, column 4: '' cannot be read as float."),
        ("a: !!timestamp 2026-02-30", "line 1, column 4: it is not plain YAML"),
        ("a: !!python/object/apply:os.system [ls]", "it is not plain YAML, and nothing in it was executed"),
        ("a: " + "9" * 5000, "cannot be read as int."),
        (f"a: {2**63}", f"'{2**63}' is beyond the whole numbers of 64 bits."),
        ("[" * 3000, "line 1, column 65: it is nested deeper than 64 levels."),
        ("- " * 3000, "it is nested deeper than 64 levels."),
        ("a: 1\nb: 2\na: 3", "line 3, column 1: 'a' is given twice, first in line 1; give it once."),
        ("x: {a: 1, a: 2}", "line 1, column 11: 'a' is given twice, first in line 1; give it once."),
        ('a: "\\ud800"', "line 1, column 4: its text holds a character that cannot be stored"),
        ('a: "x\\0"', "its text holds a character that cannot be stored"),
        ("a: 1\nb: \0", "line 2: it is not YAML (character 0x0)."),
        ("&a [*a]", "line 1, column 5: an alias stands inside what it names."),
        ("a: *b", "found undefined alias 'b'"),
        ("{[1]: 2}", "found unhashable key"),
        (BOMB, "its aliases make it longer than"),
        (CHAIN, "deeper than 64 levels"),
        (MERGES, "its aliases make it longer than"),
    ],
)
def test_each_refusal_is_one_sentence_with_its_line(text, sentence):
    with pytest.raises(InputError) as caught:
        parse_yaml(text, "specification s.yaml")
    message = str(caught.value)
    assert message.startswith("specification s.yaml, line ")
    assert sentence in message
    assert len(message) < 300
    assert "\n" not in message


def test_a_bomb_of_aliases_is_counted_and_not_built(tmp_path):
    """400 bytes that stood for gigabytes are refused by a process that has no room for them."""
    (tmp_path / "spec.yaml").write_text(BOMB)
    limit = 2 * 2**30
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", "plan", tmp_path / "spec.yaml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
        timeout=300,
    )
    assert done.returncode == 2, done.stderr
    assert "its aliases make it longer than" in done.stderr
    assert "Traceback" not in done.stderr


def test_files_that_cannot_be_read(tmp_path):
    file = tmp_path / "x.yaml"
    for data, sentence in (
        (b"a: 1\nb: \xff\xfe", "line 2: it is not YAML (byte 8 is not UTF-8)."),
        (b"#" * (MAX_BYTES + 1), f"it is longer than {MAX_BYTES} bytes"),
    ):
        file.write_bytes(data)
        with pytest.raises(InputError) as caught:
            read_yaml(file, "values")
        assert str(caught.value).startswith(f"values {file}")
        assert sentence in str(caught.value)
    with pytest.raises(InputError, match="there is no such file"):
        read_yaml(tmp_path / "none.yaml", "values")
    with pytest.raises(InputError, match="no file can have this name"):
        read_yaml("a\0b", "values")
