"""Searches for values that a limit cut short: where they began, for the list of what was not followed."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class
from verifygate.static.values.domain import Frame
from verifygate.static.values.evaluator import Evaluator

CUT_SHORT = "what this may be rests on more than is looked at: the rest is taken for unknown"


def searched(about: Sequence[object], evaluator: Evaluator) -> Location | None:
    """The place of what a search was about: an expression in a frame, or a class. What is made up has none."""
    match about:
        case (ast.AST() as node, Frame(function=function)) if hasattr(node, "lineno"):
            return Location(function, node)
        case (_, Frame(function=function)):
            return Location(function, function.node)
        case (Class() as made,):
            return Location(evaluator.module_frame(made.module).function, made.node)
    return None
