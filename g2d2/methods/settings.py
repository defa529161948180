"""Settings of a method: a typed model that says on each field whether it is free per row of a batch."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class MethodSettings(BaseModel):
    """How one row is restored. Fields declared with `free` may differ between the rows of a batch."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    @classmethod
    def free_fields(cls) -> tuple[str, ...]:
        """Settings that may differ between the rows of one batch."""
        return tuple(name for name, field in cls.model_fields.items() if _is_free(field.json_schema_extra))

    @classmethod
    def shared_fields(cls) -> tuple[str, ...]:
        """Settings that all rows of a batch have in common."""
        return tuple(name for name in cls.model_fields if name not in cls.free_fields())


def free(default: Any, **limits: Any) -> Any:
    """A setting that is free per row of a batch."""
    return Field(default, json_schema_extra={"free": True}, **limits)


def _is_free(extra: Any) -> bool:
    return isinstance(extra, dict) and bool(extra.get("free"))
