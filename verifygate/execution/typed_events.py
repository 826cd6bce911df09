"""The one place where a line of the recorder becomes the typed record that the static stage leaves as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verifygate.events.record import Event, Frame, Kind, Measured, Region

_SCALED = {"scaled": True, "plain": False}
"""What the recorder calls the root of a backward; another word says that it could not tell."""


def typed(number: int, word: str, frames: tuple[Frame, ...], autocast: str, row: Mapping[str, Any]) -> Event:
    """The event that a line says. `autocast` is what was in force, `cpu float16`; empty for nothing."""
    device, _, dtype = autocast.partition(" ")
    return Event(
        kind=Kind.of(word),
        frames=frames,
        number=number,
        region=Region(device, dtype) if device else None,
        in_region=bool(device),
        scaled=_SCALED.get(row.get("root", "")),
        parameters=parameters(row),
        object=row.get("object"),
        scaler=row.get("scaler"),
        raised=str(row.get("raised", "")),
        empty=bool(row.get("empty")),
        measured=_measured(row),
    )


def parameters(row: Mapping[str, Any]) -> tuple[int, ...]:
    """The optimizers whose parameters a line is about, by number."""
    if (one := row.get("optimizer")) is not None:
        return (int(one),)
    return tuple(int(each) for each in row.get("optimizers", ()))


def _measured(row: Mapping[str, Any]) -> Measured:
    norm = row.get("norm")
    return Measured(
        factor=row.get("factor"),
        replaced=bool(row.get("replaced")),
        hid=bool(row.get("hid")),
        norm=(norm[0], norm[1]) if isinstance(norm, list | tuple) else None,
        sizes=tuple((a, b, c, d) for a, b, c, d in row.get("sizes") or ()),
        added=row.get("added"),
        multiple=row.get("multiple"),
        limit=row.get("limit"),
        endless=bool(row.get("endless")),
        tensors=row.get("tensors"),
        scale=row.get("scale"),
        found_inf=row.get("found_inf"),
        given=bool(row.get("given")),
        inner=bool(row.get("inner")),
        shared=tuple(int(each) for each in row.get("shared") or ()),
        unread=bool(row.get("unread")),
        unclear=row.get("root") == "unclear",
    )
