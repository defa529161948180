"""Strategies that spoil something valid: values in a tree of YAML, text, bytes, files in a folder."""

import copy
import datetime

from hypothesis import strategies as st

from tests.fuzz.oracle import SECRET

ODD_STRINGS = [
    "", " ", "\x00", "a\x00b", "\ud800", "é", "💥", "\x1b[31mred", "a\nb", "a\tb", "‮abc", "=1+1", "%s%n", "{}", "..",
    "~nouser/x", "file:///%00", "file://", "s3://", "s3:///x", "s3://Bad_Bucket!/x", "http://x", "a:b/c", "nan", "auto",
    "1e400", "x" * 300, "y" * 100_000, "-", "--help", "null", "C:\\x", "/dev/null/x", "/proc/x",
]  # fmt: skip
SECRET_ADDRESSES = [
    f"http://user:{SECRET}@host/x",
    f" http://user:{SECRET}@host/x",
    f"s3://KEY:{SECRET}@bucket/x",
    f"http://host/x?api_key={SECRET}",
    f"http://host/x?access_token={SECRET}",
    f"postgresql://user:{SECRET}@host/db",
    f"postgresql://host/db;pwd={SECRET}",
    f"mysql+pymysql://u:{SECRET}@h/d",
]
ODD_NUMBERS = [
    -1, 0, 1, 2, 2**31, 2**32, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, -(10**400), 0.0, -0.0, 0.5, 1e-320, 1e-12,
    1e38, 3.5e38, 1e308, float("nan"), float("inf"), float("-inf"), 1_000_000_000,
]  # fmt: skip
ODD_OTHERS = [
    None, True, False, [], {}, [None], [[]], {"": None}, {None: 1}, {1: 2}, [[[[[]]]]], b"\xff\x00", ["a", "a"],
    datetime.date(2026, 2, 3), datetime.datetime(2026, 2, 3, 4, 5), {"a": {"a": {"a": {}}}}, [0] * 1000,
]  # fmt: skip

# no slash and no dots: a name drawn by chance must not lead out of the test's own folder
words = st.text(st.characters(exclude_characters="/\\.~", codec="utf-8"), max_size=20)
scalars = st.one_of(
    st.sampled_from(ODD_NUMBERS),
    st.sampled_from(ODD_STRINGS),
    st.sampled_from(ODD_OTHERS),
    st.integers(-(2**70), 2**70),
    st.floats(),
    words,
)


def paths(value, prefix=()):
    """Of every value in a tree, the tree itself first."""
    yield prefix
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from paths(inner, (*prefix, key))


@st.composite
def spoiled(draw, valid, most=3, addresses=()):
    """A copy of a tree with up to so many places changed; at the paths in `addresses` a secret may be planted."""
    tree = [copy.deepcopy(valid)]  # in a list, so that the whole tree can be replaced like any part of it
    for _ in range(draw(st.integers(1, most))):
        _change(draw, tree, addresses)
    return tree[0]


def _change(draw, tree, addresses):
    path = draw(st.sampled_from([path for path in paths(tree) if path]))
    parent = tree
    for key in path[:-1]:
        parent = parent[key]
    key, value = path[-1], parent[path[-1]]
    way = draw(st.sampled_from(["replace", "replace", "delete", "unknown", "wrap", "text", "secret", "rename"]))
    if way == "delete" and len(path) > 1:
        del parent[key]
    elif way == "unknown" and isinstance(value, dict):
        value[draw(st.one_of(words, st.sampled_from([1, None, True, "name", "grid"])))] = copy.deepcopy(draw(scalars))
    elif way == "wrap":
        parent[key] = draw(st.sampled_from([[value], {"value": value}, [value, value]]))
    elif way == "text":
        parent[key] = str(value)[:200] + draw(words)
    elif way == "secret" and path[1:] in addresses:
        parent[key] = draw(st.sampled_from(SECRET_ADDRESSES))
    elif way == "rename" and isinstance(parent, dict) and isinstance(key, str):
        parent[key[:-1]] = parent.pop(key)
    else:
        parent[key] = copy.deepcopy(draw(_unlike(value)))


def _unlike(value):
    """Mostly of the same kind as the value it replaces: what is of another kind is refused at the door."""
    near = ODD_NUMBERS if type(value) in (int, float) else ODD_STRINGS if isinstance(value, str) else ODD_OTHERS
    return st.one_of(st.sampled_from(near), st.sampled_from(near), scalars)


SNIPPETS = [
    "\t", "- ", ": ", "&a [*a]", "*nowhere", "<<: *x", "!!python/object/apply:os.getpid []", "!!int foo", "!!binary x",
    "!!timestamp 2026-02-30", "2026-02-30", "[" * 3000, "{" * 500, "9" * 5000, "0x" + "f" * 5000, '"\\ud800"', "%TAG",
    "---", "...", "? x", "|", ">", "'", '"', "#", "@", "`", "1:59:59", "1_000", "0o17", "yes", "~", "\x00", "\x85", "﻿",
    "name: again", "grid: {cross: {eta_kl: {log: [0.001, 1], count: 1000000000}}}", "seeds: [.nan]",
]  # fmt: skip
ALIAS_BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@st.composite
def spoiled_text(draw, text):
    """Text with lines lost, doubled, indented, cut short, or with something strange in them."""
    lines = text.splitlines()
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, max(len(lines) - 1, 0)))
        way = draw(st.sampled_from(["insert", "splice", "drop", "double", "indent", "cut", "swap"]))
        line = lines[place] if lines else ""
        if way == "insert":
            lines.insert(place, draw(st.sampled_from(SNIPPETS)))
        elif way == "splice":
            column = draw(st.integers(0, len(line)))
            lines[place : place + 1] = [
                line[:column] + draw(st.one_of(st.sampled_from(SNIPPETS), words)) + line[column:]
            ]
        elif way == "swap":
            lines[place : place + 1] = [line.partition(":")[0] + ": " + draw(st.sampled_from(SNIPPETS))]
        elif way == "drop":
            del lines[place : place + 1]
        elif way == "double":
            lines.insert(place, line)
        elif way == "indent":
            lines[place : place + 1] = [" " * draw(st.integers(1, 5)) + line]
        else:
            lines[place:] = [line[: draw(st.integers(0, len(line)))]]
    return "\n".join(lines)


@st.composite
def spoiled_bytes(draw, content):
    """Bytes cut short, with some overwritten, removed or put in."""
    way = draw(st.sampled_from(["cut", "flip", "zeros", "remove", "insert", "empty", "braces", "noise", "double"]))
    place = draw(st.integers(0, max(len(content) - 1, 0)))
    if draw(st.booleans()):  # headers and footers are where formats believe what they read
        place = min(place, 40) if draw(st.booleans()) else max(len(content) - 1 - place % 40, 0)
    span = draw(st.integers(1, 16))
    if way == "cut":
        return content[:place]
    if way == "flip":
        changed = bytearray(content)
        for at in range(place, min(place + span, len(content))):
            changed[at] ^= draw(st.integers(1, 255))
        return bytes(changed)
    if way == "double":
        return content + content
    middle = {
        "zeros": b"\0" * span, "remove": b"", "insert": content[place : place + span] + draw(st.binary(max_size=16)),
        "noise": draw(st.binary(min_size=span, max_size=span)),
    }  # fmt: skip
    if way in middle:
        return content[:place] + middle[way] + content[place + span :]
    return b"" if way == "empty" else b"{}"
