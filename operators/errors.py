"""The one exception for bad input: its message is a single sentence a user can act on."""

import re

_LONGEST = 2000
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, some of which steer a terminal, and halves of characters, which no file can hold."""


class InputError(ValueError):
    """Names the field, the value it had and what is allowed; on one line, whatever the value was."""

    def __str__(self) -> str:
        return _one_line(super().__str__())


def _one_line(text: str) -> str:
    text = _UNPRINTABLE.sub(lambda sign: " " if sign[0] == "\n" else repr(sign[0])[1:-1], text)
    # a name may be as long as a file; how a sentence ends says what to do
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 4 :]}"
