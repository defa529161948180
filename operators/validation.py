"""Turn what pydantic says about bad settings into one sentence a user can act on."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from operators.credentials import masked
from operators.errors import InputError
from operators.plurals import counted

Model = TypeVar("Model", bound=BaseModel)

_LONGEST_VALUE = 60

Location = tuple[int | str, ...]


class AtKeyError(ValueError):
    """A validator's refusal of one key inside the value it was given."""

    def __init__(self, message: str, *keys: int | str) -> None:
        super().__init__(message)
        self.keys = keys


def validate(
    model_class: type[Model],
    values: Model | Mapping[str, Any] | None,
    where: str = "settings",
    place: Callable[[Location], str] | None = None,
) -> Model:
    """Build `model_class` from `values`, or raise an InputError that names the key and what is allowed.

    `place` says where a key stands, as `values.yaml, line 3`; without it every sentence starts with `where`.
    """
    if isinstance(values, model_class):
        return values
    if values is not None and not isinstance(values, Mapping):
        raise InputError(f"{where} is {shorten(values)}: it must be a mapping of setting names to values.")
    try:
        return model_class.model_validate(dict(values or {}))
    except ValidationError as error:
        problems = error.errors(include_url=False)
        # A misspelt key also makes the real one missing: the spelling is what the user has to change.
        problems.sort(key=lambda problem: problem["type"] != "extra_forbidden")
        more = "" if len(problems) == 1 else f" (and {counted(len(problems) - 1, 'more mistake')})"
        start = where if place is None else place(_keys(problems[0]))
        raise InputError(f"{start}: {_describe(model_class, problems[0])}{more}.") from None


def shorten(value: object) -> str:
    """The value as a user would type it, without a URL's secrets, cut so that a tensor cannot flood the sentence."""
    text = repr(masked(value)) if isinstance(value, str) else masked(repr(value))
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """` (did you mean 'eta_kl'?)`; nothing where no known name is near."""
    names = {name.casefold(): name for name in known}
    near = get_close_matches(str(given).casefold(), names, n=1)
    return f" (did you mean {names[near[0]]!r}?)" if near else ""


def _keys(problem: ErrorDetails) -> Location:
    """Of the value that is wrong; a validator may know it better than pydantic does."""
    error = problem.get("ctx", {}).get("error")
    return problem["loc"] + (error.keys if isinstance(error, AtKeyError) else ())


def _describe(model_class: type[BaseModel], problem: ErrorDetails) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    message = problem["msg"]
    for said, meant in (("Input should", "must"), ("Value error, ", ""), ("Assertion failed, ", "")):
        message = message.replace(said, meant)
    message = (f"it {message}" if message.startswith("must be") else message).rstrip(".")
    if problem["type"] == "extra_forbidden":
        owner = _model_at(model_class, problem["loc"][:-1])
        fields = [] if owner is None else list(owner.model_fields)
        known = "" if owner is None else f": known settings are {', '.join(fields) or 'none'}"
        return f"unknown setting {key!r}{did_you_mean(str(problem['loc'][-1]), fields)}{known}"
    if problem["type"] == "missing":
        return f"{key} is missing: it has no default and must be given"
    if not key:
        return message
    if problem["type"] == "value_error" and isinstance(problem["input"], Mapping):
        return f"{key}: {message}"  # the message names the entry; the whole would hide it
    return f"{key} is {shorten(problem['input'])}: {message[:1].lower()}{message[1:]}"


def _model_at(model_class: type[BaseModel], loc: tuple[int | str, ...]) -> type[BaseModel] | None:
    """The nested model a location points into, where plain annotations can tell."""
    for part in loc:
        field = model_class.model_fields.get(str(part))
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            return None
        model_class = field.annotation
    return model_class
