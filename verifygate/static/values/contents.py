"""Combine and read the known contents of containers."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from verifygate.base.records import replace
from verifygate.static.values.domain import Bound, Contents, Frame

Row = dict[str | ast.expr, Bound]
"""The variables of a loop in one iteration."""
_NAMED = ast.Name | ast.Attribute | ast.Subscript | ast.Constant


def keys_of(found: Contents, at: ast.expr, frame: Frame) -> Contents:
    """The keys of a dict, as constants."""
    return Contents(tuple(constant(key, at, frame) for key in found.keys or ()))


def placed(found: Contents, holder: ast.expr, frame: Frame) -> Contents:
    """The contents of what `holder` names: an element that a call made is read from there from now on.

    So it has one access path, however the container is passed on.
    """
    keys = found.keys if found.keys is not None else map(found.elements.index, found.elements)
    elements = (
        each
        if each.place is not None or isinstance(each.expr, _NAMED)
        else replace(each, place=_read(holder, key, frame))
        for key, each in zip(keys, found.elements, strict=True)
    )
    return Contents(tuple(elements), found.keys)


def reads(found: Contents) -> list[Bound]:
    """The elements of a container, as the source reads them."""
    return [each.place or each for each in found.elements]


def _read(holder: ast.expr, key: object, frame: Frame) -> Bound:
    index = ast.copy_location(ast.Constant(key), holder)  # type: ignore[arg-type]
    return Bound(ast.copy_location(ast.Subscript(holder, index, ast.Load()), holder), frame)


def constant(value: object, at: ast.expr, frame: Frame) -> Bound:
    return Bound(ast.copy_location(ast.Constant(value), at), frame)  # type: ignore[arg-type]


def joined(one: Contents | None, other: Contents | None) -> Contents | None:
    if one is None or other is None or one.keys is not None or other.keys is not None:
        return None
    return Contents((*one.elements, *other.elements))


def merged(one: Contents | None, other: Contents | None) -> Contents | None:
    """A dict that is updated by another."""
    if one is None or other is None or one.keys is None or other.keys is None:
        return None
    items = dict(zip(one.keys, one.elements, strict=True)) | dict(zip(other.keys, other.elements, strict=True))
    return Contents(tuple(items.values()), tuple(items))


def side_by_side(columns: Sequence[list[Row] | None]) -> list[Row] | None:
    """The rows of several loops that advance together, up to the shortest."""
    known = [each for each in columns if each is not None]
    if len(known) != len(columns):
        return None
    return [{name: each for row in rows for name, each in row.items()} for rows in zip(*known, strict=False)]
