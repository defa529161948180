"""The one table printer."""

from pipelines.console.text_table import text_table


def test_numbers_are_flush_right_and_words_flush_left():
    rows = [["a", "1.5", "12 [11, 13]", "x"], ["bcd", "-", "9 [8, 10]", "12"], ["e", "22.25", "", ""]]
    assert text_table(rows, ["name", "n", "mean", "word"]).splitlines() == [
        "name      n         mean  word",
        "a       1.5  12 [11, 13]  x",
        "bcd       -    9 [8, 10]  12",
        "e     22.25",
    ]


def test_a_table_may_have_no_header_and_no_rows():
    assert text_table([["ok", "torch", "2.13"], ["fail", "ray", "none"]]) == "ok    torch  2.13\nfail  ray    none"
    assert text_table([], ["a", "b"]) == "a  b"
    assert text_table([]) == ""
