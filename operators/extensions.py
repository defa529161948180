"""Things by name: our own, those of installed packages, and `module:thing` for one of the user's own."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from operators.errors import InputError
from operators.validation import did_you_mean, shorten

Thing = TypeVar("Thing")

FOLDER_VARIABLE = "G2D2_MODULES"
"""Names the folder whose modules `module:thing` may mean besides the installed ones; Ray's workers inherit it."""


class Extensions(Generic[Thing]):
    """Every thing of one kind, such as operators: names are known without importing what is behind them.

    `homes` are our own names with `module:attribute`; `group` is the entry-point group of installed packages; `check`
    says in words what is wrong with an object that is not such a thing, or None.
    """

    def __init__(self, noun: str, group: str, homes: Mapping[str, str], check: Callable[[Any], str | None]) -> None:
        self.noun, self.group, self.homes, self.check = noun, group, homes, check
        self._found: dict[str, Thing] = {}

    def names(self) -> tuple[str, ...]:
        """Our own and installed ones, sorted."""
        return tuple(sorted({*self.homes, *self._installed}))

    def find(self, name: str) -> Thing:
        """The thing of a known name or of `module:thing`; an InputError names what is allowed."""
        if name not in self._found:
            self._found[name] = self._load(name)
        return self._found[name]

    def known(self, name: str) -> bool:
        """Whether `find` would look for it: a known name, or one that looks like `module:thing`."""
        return name in self.homes or name in self._installed or _is_place(name)

    def refusal(self, name: object) -> InputError:
        """The sentence for a name that is none."""
        text, known = str(name), ", ".join(self.names())
        return InputError(
            f"{self.noun} is {shorten(name)}{did_you_mean(text, self.names())}: it must be one of {known}, or "
            "module:thing for one of your own."
        )

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        """An installed package cannot take one of our own names."""
        return {point.name: point for point in entry_points(group=self.group) if point.name not in self.homes}

    def _load(self, name: str) -> Thing:
        if not self.known(name):
            raise self.refusal(name)
        place = self.homes.get(name, name)
        if name in self._installed:
            place = self._installed[name].value
        with self._explained(name, place):
            module, _, attribute = place.partition(":")
            thing: Any = _import(module)
            for part in attribute.split("."):
                thing = getattr(thing, part)
        problem = self.check(thing)
        if problem is not None:
            raise InputError(f"{self.noun}: {name!r} {problem}.")
        return thing  # type: ignore[no-any-return]

    @contextmanager
    def _explained(self, name: str, place: str) -> Iterator[None]:
        try:
            yield
        except InputError:
            raise
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            reason = " ".join(str(error).split())
        except (Exception, SystemExit) as error:  # a module of the user's own may raise anything while it is imported
            reason = f"{place.partition(':')[0]} raised {type(error).__name__}: {shorten(str(error))}"
        else:
            return
        near = "" if name in self.names() else did_you_mean(name, self.names())
        raise InputError(
            f"{self.noun}: {name!r}{near} cannot be loaded ({reason}); use one of "
            f"{', '.join(self.names())}, or module:thing for one of your own."
        ) from None


def subclass_of(base: type) -> Callable[[Any], str | None]:
    """A check that an object is a class below `base`."""

    def check(thing: Any) -> str | None:
        if isinstance(thing, type) and issubclass(thing, base):
            return None
        return f"is {shorten(thing)}; it must be a subclass of {base.__module__}.{base.__qualname__}"

    return check


def own_modules() -> str:
    """The folder whose modules `module:thing` may mean: the working directory, unless the environment names another."""
    return os.environ.get(FOLDER_VARIABLE) or os.getcwd()


def _is_place(name: str) -> bool:
    module, colon, attribute = name.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), *attribute.split(".")))


def _import(module: str) -> Any:
    """An installed module, else one of the user's own folder, which comes last on the path: it can hide nothing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise
        folder = own_modules()
        if folder in sys.path:
            raise
        sys.path.append(folder)
        return import_module(module)
