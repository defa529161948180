"""Tables of numbers as text."""

from bench.text_table import text_table


def test_rows_may_have_columns_of_their_own():
    rows = [{"what": "sweep", "items": 1000}, {"what": "end", "items": 10, "seconds": 0.25}]
    assert text_table(rows, left=("what",)).splitlines() == [
        "what   items  seconds",
        "sweep   1000        -",
        "end       10    0.250",
    ]
