"""Frozen parameters: whether a program sets, for a while, which parameters need gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate.base.fixpoint import fixpoint
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.evaluator import Evaluator

_FLAG = "requires_grad"


def freeze(functions: Iterable[Function], evaluator: Evaluator) -> bool:
    """Whether functions, or what they call, in any file, set `requires_grad` of something."""
    if not any(_FLAG.encode() in file.data for file in evaluator.program.sources):
        return False

    def called(function: Function) -> Iterator[Function]:
        frame = evaluator.root_frame(function)
        return (callee.function for call in function.calls for callee in evaluator.callees(call, frame))

    return any(map(_sets_flag, fixpoint(sorted(functions, key=lambda each: each.key), called)))


def _sets_flag(function: Function) -> bool:
    """Whether it assigns the flag, or calls what is named after it: `requires_grad_`, or something not in sight."""
    if not function.module.mentions(_FLAG.encode()):
        return False
    assigned = (node.attr for node in function.of_kind(ast.Attribute) if isinstance(node.ctx, ast.Store))
    return _FLAG in assigned or any(_FLAG in last_name(call.func) for call in function.calls)
