"""Numbers with their nouns, as sentences need them."""


def counted(number: int, noun: str) -> str:
    """`1 image`, `2 images`, `3 entries`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("ry") else f"{number} {noun}s"
