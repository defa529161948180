"""Prompts of class-conditional and of unconditional priors."""

import json

import pytest

from g2d2.priors.class_labels import ClassLabels, no_prompt, read_classes
from operators import InputError


def test_a_class_is_given_by_number_or_name():
    labels = ClassLabels(10, ("cat", "dog", "7"))
    assert [labels.label(text) for text in ("cat", " dog ", "9", "0", "7")] == [0, 1, 9, 0, 2]


@pytest.mark.parametrize("prompt", ["", "bird", "10", "-1", "1.0", "²"])
def test_another_prompt_is_one_sentence(prompt):
    with pytest.raises(InputError, match="is none of the prior's 10 classes") as error:
        ClassLabels(10, ("cat",)).label(prompt)
    assert "\n" not in str(error.value)
    assert "did you mean 'cat'" in ClassLabels(10, ("cat",)).misfit("cta", 1.0)


def test_an_empty_prompt_is_the_null_class_where_there_is_one():
    labels = ClassLabels(11, null=10)
    assert labels.label("") == 10
    assert labels.misfit("", 3.0) is None
    assert labels.misfit("", 0.0) is None


def test_guidance_needs_a_null_class():
    labels = ClassLabels(10)
    assert labels.misfit("3", 1.0) is None
    assert "cannot have guidance 2" in labels.misfit("3", 2.0)
    assert "cannot have guidance 0" in labels.misfit("3", 0.0)


def test_an_unconditional_prior_takes_no_prompt_unless_it_is_not_read():
    assert no_prompt("", 1.0) is None
    assert no_prompt("  ", 7.5) is None
    assert no_prompt("a cat", 0.0) is None
    assert "unconditional" in no_prompt("a cat", 1.0)


def test_names_are_read_from_a_file(tmp_path):
    assert read_classes(tmp_path, 3) == ClassLabels(3)
    (tmp_path / "classes.json").write_text(json.dumps(["cat", "dog "]))
    assert read_classes(tmp_path, 3) == ClassLabels(3, ("cat", "dog"))
    (tmp_path / "classes.json").write_text(json.dumps({"names": ["cat"], "null": 2}))
    assert read_classes(tmp_path, 3) == ClassLabels(3, ("cat",), 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not readable JSON"),
        ("3", "must be a list of names"),
        ("[3]", "must be a list of names"),
        ('["a", "a"]', "has 2 names; they must be distinct, and up to 3"),
        ('["a", "b", "c", "d"]', "has 4 names"),
        ('{"null": 3}', "has null 3; it must be the number of a class, below 3"),
        ('{"null": true}', "has null True"),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path, content, message):
    (tmp_path / "classes.json").write_text(content)
    with pytest.raises(InputError, match=message) as error:
        read_classes(tmp_path, 3)
    assert "\n" not in str(error.value)
