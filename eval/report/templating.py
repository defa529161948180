"""The templates of a page: Jinja2 with every value escaped, and what templates may call."""

import base64
import json
import re
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from eval.cell_values import ENOUGH
from eval.paper import CITATION
from eval.record import Contrast, SweepRecord, word_tables
from eval.record.headline import amount_words, worse_than_nothing
from eval.record.leaderboard import leaderboard
from eval.record.numbers import shown, spread
from eval.record.word_tables import ARROWS, INTERVAL
from eval.report.shown_cells import CELLS_SHOWN
from eval.report.thumbnails import LONGEST_SIDE
from eval.verdicts import SIGNIFICANT
from operators.plurals import counted

ARM_COLOURS = 6
"""Arms that differ in colour; their shapes differ too."""
SHORT = 24
"""Letters of a row's name that stay on one line."""
_NUMERIC = re.compile(r"(?:< )?\[?[+-]?\d[\d.,e+\- \[\]]*$|-$")


@cache
def templates() -> Environment:
    """The environment; a name that a template misspells is an error."""
    environment = Environment(
        loader=PackageLoader("eval.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "words": lambda entry: entry if isinstance(entry, str) else shown(entry),
        "mean_and_interval": _mean_and_interval,
        "spread": spread,
        "json": json.dumps,
        "digest": lambda script: base64.b64encode(sha256(script.encode()).digest()).decode(),
        "counted": counted,
        "arrow": ARROWS.__getitem__,
        "side_class": side_class,
    }
    environment.tests["numeric"] = _is_numeric
    environment.tests["short"] = lambda entry: len(str(entry)) <= SHORT
    environment.globals |= {
        "tables": word_tables, "amount": amount_words, "enough": f"{100 * ENOUGH:g}", "significant": SIGNIFICANT,
        "longest_side": LONGEST_SIDE, "cells_shown": CELLS_SHOWN, "citation": CITATION,
        "warnings": worse_than_nothing, "leaderboard_of": leaderboard, "numeric_columns": _numeric_columns,
    }  # fmt: skip
    return environment


def _mean_and_interval(words: str) -> tuple[str, str]:
    found = INTERVAL.match(words)
    return (found[1], found[2]) if found else (words, "")


def _is_numeric(entry: Any) -> bool:
    return not isinstance(entry, str) or _NUMERIC.match(entry) is not None


def _numeric_columns(rows: Sequence[Sequence[Any]]) -> set[int]:
    """Columns that are set flush right, after the first: those with a number in some row."""
    return {
        place
        for row in rows
        for place, entry in enumerate(row)
        if place and entry not in ("-", None) and _is_numeric(entry)
    }


def macro(template: str, name: str, *values: Any) -> Markup:
    """What a macro of a template makes of these values, as markup."""
    made: Markup = getattr(templates().get_template(template).module, name)(*values)
    return made


def side_class(contrasts: Sequence[Contrast], record: SweepRecord) -> str:
    """The colour of the side that wins all of these."""
    won = {one.a if one.winner == "a" else one.b if one.winner else None for one in contrasts}
    (name,) = won if len(won) == 1 else (None,)
    return arm_class(name, record.arms)


def arm_class(name: str | None, arms: Sequence[str]) -> str:
    """An arm's colour, by its place; `even` for what is none."""
    return f"arm{arms.index(name) % ARM_COLOURS}" if name in arms and len(arms) > 1 else "even"
