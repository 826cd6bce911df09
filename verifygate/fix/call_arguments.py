"""Add a keyword to a written call, or take arguments out of it."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from verifygate.fix.concrete_tree import Change
from verifygate.fix.entries import entry_after


def keyword(name: str, value: cst.BaseExpression) -> cst.Arg:
    """`name=value`, without spaces."""
    tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return cst.Arg(value, keyword=cst.Name(name), equal=tight)


def with_keyword(name: str, value: cst.BaseExpression) -> Change:
    """Add `name=value` as the last argument of a call."""

    def change(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.Call)  # noqa: S101
        new = keyword(name, value)
        if not node.args:
            return node.with_changes(args=[new])
        return entry_after(len(node.args) - 1, new)(node)

    return change


def without_keywords(names: Collection[str]) -> Change:
    """Take keywords out of a call; what stood behind the last argument stands behind the new last one."""

    def change(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.Call)  # noqa: S101
        kept = [each for each in node.args if each.keyword is None or each.keyword.value not in names]
        last = node.args[-1]
        if kept and kept[-1] is not last:
            kept[-1] = _as_last(kept[-1], last)
        return node.with_changes(args=kept)

    return change


def _as_last(argument: cst.Arg, last: cst.Arg) -> cst.Arg:
    """The argument with what stood behind the last one, and with its own comment."""
    comma = last.comma
    if isinstance(comma, cst.Comma) and isinstance(argument.comma, cst.Comma):
        own, end = argument.comma.whitespace_after, comma.whitespace_after
        if isinstance(own, cst.ParenthesizedWhitespace) and isinstance(end, cst.ParenthesizedWhitespace):
            comma = comma.with_changes(whitespace_after=end.with_changes(first_line=own.first_line))
    return argument.with_changes(comma=comma, whitespace_after_arg=last.whitespace_after_arg)
