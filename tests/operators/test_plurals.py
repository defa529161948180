"""Sentences that count."""

import pytest

from operators.plurals import counted


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [(0, "image", "0 images"), (1, "image", "1 image"), (2, "work item", "2 work items"), (2, "entry", "2 entries")],
)
def test_a_number_with_its_noun(number, noun, text):
    assert counted(number, noun) == text
