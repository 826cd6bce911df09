"""One more entry in a written-out dict or call, set as its neighbours are, with every comment where it was."""

from __future__ import annotations

import libcst as cst

from verifygate.fix.concrete_tree import Change

_Space = cst.BaseParenthesizableWhitespace
_TIGHT = cst.SimpleWhitespace("")


def entry_after(at: int, new: cst.DictElement | cst.Arg) -> Change:
    """Put `new` behind the entry number `at` of a dict, or argument number `at` of a call."""

    def change(node: cst.CSTNode) -> cst.CSTNode:
        if isinstance(node, cst.Call) and isinstance(new, cst.Arg):
            return _in_call(node, at, new)
        assert isinstance(node, cst.Dict)  # noqa: S101 - nothing else is asked for
        assert isinstance(new, cst.DictElement)  # noqa: S101
        return _in_dict(node, at, new)

    return change


def _in_dict(node: cst.Dict, at: int, new: cst.DictElement) -> cst.Dict:
    entries = list(node.elements)
    gap = _gap(entries[at - 1].comma if at else None, node.lbrace.whitespace_after)
    if at < len(entries) - 1:
        entries.insert(at + 1, new.with_changes(comma=cst.Comma(whitespace_after=gap)))
        return node.with_changes(elements=entries)
    gap, close = _exchanged(gap, node.rbrace.whitespace_before)
    trailing = entries[at].comma
    entries[at] = entries[at].with_changes(comma=cst.Comma(whitespace_after=gap))
    rbrace = node.rbrace.with_changes(whitespace_before=close)
    return node.with_changes(elements=[*entries, new.with_changes(comma=trailing)], rbrace=rbrace)


def _in_call(node: cst.Call, at: int, new: cst.Arg) -> cst.Call:
    entries = list(node.args)
    gap = _gap(entries[at - 1].comma if at else None, node.whitespace_before_args)
    if at < len(entries) - 1:
        entries.insert(at + 1, new.with_changes(comma=cst.Comma(whitespace_after=gap)))
        return node.with_changes(args=entries)
    last = entries[at]
    if isinstance(last.comma, cst.Comma):
        gap, close = _exchanged(gap, last.comma.whitespace_after)
        new = new.with_changes(comma=last.comma.with_changes(whitespace_after=close))
    else:
        gap, close = _exchanged(gap, last.whitespace_after_arg)
        new = new.with_changes(whitespace_after_arg=close)
    entries[at] = last.with_changes(comma=cst.Comma(whitespace_after=gap), whitespace_after_arg=_TIGHT)
    return node.with_changes(args=[*entries, new])


def _gap(before: object, opening: _Space) -> _Space:
    """What stands in front of an entry, without its comments: a space, or a new line and an indentation."""
    space = before.whitespace_after if isinstance(before, cst.Comma) else opening
    if isinstance(space, cst.ParenthesizedWhitespace):
        return space.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=[])
    return cst.SimpleWhitespace(" ")


def _exchanged(gap: _Space, close: _Space) -> tuple[_Space, _Space]:
    """The comment on the line of what was the last entry stays on that line."""
    if not (isinstance(gap, cst.ParenthesizedWhitespace) and isinstance(close, cst.ParenthesizedWhitespace)):
        return gap, close
    return gap.with_changes(first_line=close.first_line), close.with_changes(first_line=cst.TrailingWhitespace())
