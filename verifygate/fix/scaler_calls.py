"""The calls of one scaler in a tree, as the fixes of the GradScaler protocol look for them."""

from __future__ import annotations

import libcst as cst

from verifygate.fix.concrete_tree import Tree, method_call
from verifygate.fix.draft import CannotFixError


def calls_of(tree: Tree, root: cst.CSTNode, method: str, receiver: str = "") -> list[cst.Call]:
    """Every `receiver.method(...)` below `root`, in source order; of any receiver where none is given."""
    found = []
    for call in tree.within(root, cst.Call):
        parts = method_call(call)
        if parts and parts[1] == method and (not receiver or tree.text(parts[0]) == receiver):
            found.append(call)
    return found


def scalers_in(tree: Tree, root: cst.CSTNode) -> list[str]:
    """What `scale`, `unscale_` or `update` is called on below `root`, as written: the scalers."""
    scaled = {
        tree.text(call.func.value) for call in calls_of(tree, root, "scale") if isinstance(call.func, cst.Attribute)
    }
    unscaled = {
        tree.text(call.func.value) for call in calls_of(tree, root, "unscale_") if isinstance(call.func, cst.Attribute)
    }
    return sorted(scaled | unscaled)


def stepped(tree: Tree, call: cst.Call) -> tuple[str, str]:
    """Scaler and optimizer of `scaler.step(optimizer, ...)`, as written. Raises CannotFixError."""
    parts = method_call(call)
    if parts is None or parts[1] != "step" or not call.args or call.args[0].star:
        raise CannotFixError("the step is not written as `scaler.step(optimizer)`")
    return tree.text(parts[0]), tree.text(call.args[0].value)


def loop_around(tree: Tree, node: cst.CSTNode) -> cst.CSTNode:
    """The innermost loop around a node in its function, or the function."""
    loops = (cst.For, cst.While, cst.FunctionDef, cst.Module)
    return next(here for here in tree.above(node) if isinstance(here, loops))
