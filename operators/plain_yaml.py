"""Read YAML that people wrote: mappings, lists, text and numbers, bounded in size, and every refusal with its line.

What comes from a file is checked while its nodes are put together, before anything is expanded or built: a key that
stands twice, aliases that multiply, text that no file can hold, numbers that no table can.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import yaml
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from operators.errors import InputError
from operators.validation import Model, shorten, validate

MAX_BYTES = 2**20
MAX_EXPANDED = 4 * MAX_BYTES
"""Characters and entries of a file whose aliases are replaced by what they stand for."""
MAX_DEPTH = 64
LARGEST_INTEGER = 2**63 - 1

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_TAG = "tag:yaml.org,2002:"
_KINDS = ("null", "bool", "int", "float", "str", "seq", "map")


class _Refused(yaml.MarkedYAMLError):
    """Well-formed, and not accepted."""

    def __init__(self, problem: str, mark: yaml.Mark) -> None:
        super().__init__(problem=problem, problem_mark=mark)


class PlainLoader(yaml.SafeLoader):
    """YAML without dates, sets and other objects: what JSON could say."""

    yaml_implicit_resolvers = {  # noqa: RUF012 (the library declares it so)
        first: [(tag, pattern) for tag, pattern in known if tag != _TAG + "timestamp"]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    yaml_constructors: ClassVar[dict[Any, Any]] = {
        tag: build
        for tag, build in SafeConstructor.yaml_constructors.items()
        if tag is None or tag.removeprefix(_TAG) in _KINDS
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._extents: dict[int, tuple[int, int]] = {}
        """Size and height of every node by its identity, aliases counted as what they stand for."""

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        mark, is_alias = self.peek_event().start_mark, self.check_event(yaml.AliasEvent)  # type: ignore[no-untyped-call]
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _Refused(f"it is nested deeper than {MAX_DEPTH} levels", mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is not None and not is_alias:
            self._measure(node, mark)
        elif node is not None and id(node) not in self._extents:
            raise _Refused("an alias stands inside what it names", mark)
        return node

    def _measure(self, node: Node, mark: yaml.Mark) -> None:
        if isinstance(node, ScalarNode):
            if _UNSTORABLE.search(node.value):
                raise _Refused("its text holds a character that cannot be stored (NUL or half a surrogate pair)", mark)
            self._extents[id(node)] = (1 + len(node.value), 1)
            return
        if isinstance(node, MappingNode):
            _refuse_doubles(node)
            parts = [part for pair in node.value for part in pair]
        else:
            parts = node.value
        extents = [self._extents[id(part)] for part in parts]
        size = 1 + sum(size for size, _ in extents)
        height = 1 + max((height for _, height in extents), default=0)
        if size > MAX_EXPANDED or height > MAX_DEPTH:
            raise _Refused(
                f"its aliases make it longer than {MAX_EXPANDED} characters or deeper than {MAX_DEPTH} levels", mark
            )
        self._extents[id(node)] = (size, height)

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError, TypeError, OverflowError):
            kind = node.tag.removeprefix(_TAG)
            raise _Refused(f"{shorten(node.value)} cannot be read as {kind}", node.start_mark) from None
        if type(value) is int and abs(value) > LARGEST_INTEGER:
            raise _Refused(f"{shorten(node.value)} is beyond the whole numbers of 64 bits", node.start_mark)
        return value


def _refuse_doubles(node: MappingNode) -> None:
    lines: dict[tuple[str, str], int] = {}
    for key in [key for key, _ in node.value if isinstance(key, ScalarNode)]:
        name, mark = (key.tag, key.value), key.start_mark
        if name in lines:
            raise _Refused(f"{shorten(key.value)} is given twice, first in line {lines[name]}; give it once", mark)
        lines[name] = mark.line + 1


@dataclass(frozen=True)
class Document:
    """What a text says, and where in it."""

    content: Any
    where: str
    """How sentences name the text, as `specification sweep.yaml`."""
    _root: Node | None

    def at(self, keys: Sequence[int | str] = ()) -> str:
        """`specification sweep.yaml, line 7, column 3`: the place of a nested key, as near as it can be found."""
        marks = _trail(self._root, keys)
        return f"{self.where}, {_line(marks[-1])}" if marks else self.where

    def validate(self, model: type[Model]) -> Model:
        """The content as a model; a sentence about a key names its line."""
        content = {} if self.content is None else self.content
        checked: Model = validate(model, content, where=self.where, place=self.at)
        return checked


def _trail(node: Node | None, keys: Sequence[int | str]) -> list[yaml.Mark]:
    """Where each key stands; a key may be left out, since pydantic also names the member of a union, as `range`."""
    if not keys:
        return []
    step = _step(node, keys[0])
    taken = [] if step is None else [step[0], *_trail(step[1], keys[1:])]
    return max(_trail(node, keys[1:]), taken, key=len)


def _step(node: Node | None, key: int | str) -> tuple[yaml.Mark, Node] | None:
    if isinstance(node, MappingNode):
        for name, value in node.value:
            if isinstance(name, ScalarNode) and name.value == str(key):
                return name.start_mark, value
    if isinstance(node, SequenceNode) and isinstance(key, int) and key < len(node.value):
        return node.value[key].start_mark, node.value[key]
    return None


def read_yaml(
    path: Path | str, what: str, missing: str = "there is no such file", loader: type[PlainLoader] = PlainLoader
) -> Document:
    """A file of at most a mebibyte; `what` it is begins every sentence about it."""
    where = f"{what} {path}"
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{where}: {missing}.") from None
    except ValueError:
        raise InputError(f"{what} {str(path)!r}: no file can have this name.") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{where}: it is longer than {MAX_BYTES} bytes; no such file is read.")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{where}, line {line}: it is not YAML (byte {error.start} is not UTF-8).") from None
    return parse_yaml(text, where, loader)


def parse_yaml(text: str, where: str, loader: type[PlainLoader] = PlainLoader) -> Document:
    """The one document of a text."""
    try:
        reader = loader(text)
        root = reader.get_single_node()
        return Document(None if root is None else reader.construct_document(root), where, root)
    except _Refused as error:
        raise InputError(f"{where}, {_line(error.problem_mark)}: {error.problem}.") from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InputError(f"{where}, line {line}: it is not YAML (character {error.character:#x}).") from None
    except ConstructorError as error:
        plain = "it is not plain YAML, and nothing in it was executed"
        raise InputError(f"{where}, {_line(error.problem_mark)}: {plain} ({error.problem}).") from None
    except yaml.MarkedYAMLError as error:
        mark, context = error.problem_mark or error.context_mark, f"{error.context}: " if error.context else ""
        raise InputError(f"{where}, {_line(mark)}: it is not YAML ({context}{error.problem}).") from None


def _line(mark: yaml.Mark | None) -> str:
    return "line 1" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
