"""The base of every model, and the split between what a run proves and what merely happened in it.

A report must be the same bytes for the same inputs. Seconds and measured samples never are, so a field that
holds one is marked `Volatile`: when a report is written, its value moves into the report's `run` object (keyed
by JSON pointer) and `null` stays in its place; when the report is read, the value moves back.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, PlainSerializer

from verifygate.model.json_document import key_in_pointer

T = TypeVar("T")


class RunOnly:
    """Marks a field whose value differs from run to run."""


Volatile = Annotated[T, RunOnly()]

Points = Annotated[Decimal, PlainSerializer(float, return_type=float, when_used="json")]
"""Points of a score, to the hundredth: decimal, so that the printed parts add up to the printed total exactly."""


class Model(BaseModel):
    """A frozen value. Unknown keys are errors, so a typing slip in a file never passes unseen."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", allow_inf_nan=False)


def volatile_pointers(value: object, pointer: str = "") -> Iterator[str]:
    """Yield the JSON pointer (RFC 6901) of every set volatile field below `value`, in field order."""
    if isinstance(value, Model):
        for name, field in type(value).model_fields.items():
            child = getattr(value, name)
            here = f"{pointer}/{name}"
            if any(isinstance(mark, RunOnly) for mark in field.metadata):
                if child is not None:
                    yield here
            else:
                yield from volatile_pointers(child, here)
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from volatile_pointers(child, f"{pointer}/{key_in_pointer(str(key))}")
    elif isinstance(value, (list, tuple)):
        for index, child in enumerate(value):
            yield from volatile_pointers(child, f"{pointer}/{index}")
