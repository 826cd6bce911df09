"""Taint of the loss scale: which expressions hold a scaled loss.

`scaler.scale(loss)`, `map(scaler.scale, losses)` and `loss * scaler.get_scale()` introduce the scale; `.item()`,
`.detach()` and a division by the scale remove it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import replace
from verifygate.static.amp.roles import Roles, Scaler
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import children, walk
from verifygate.static.values.access_paths import AccessPath
from verifygate.static.values.domain import Frame

_READ_OUT = frozenset({"item", "detach", "float", "str", "print"})
"""Calls whose result is a number or a text, and no loss to call `backward()` on."""
_MAX_FOLLOWED = 3


class ScaleFlow:
    def __init__(self, roles: Roles) -> None:
        self.roles = roles

    def scaler_in(self, expr: ast.AST, frame: Frame) -> Scaler | None:
        """The scaler whose `scale` an expression calls or passes on (`map(scaler.scale, losses)`)."""
        if not frame.function.module.mentions(b".scale", b"get_scale"):
            return None
        found: Scaler | None = None
        for scaler in self._scalers_in(expr, frame):
            if found is not None and scaler.origin != found.origin:
                return replace(found, origin=None)  # a sum of losses, each scaled by its own
            found = found or scaler
        return found

    def _scalers_in(self, expr: ast.AST, frame: Frame) -> Iterator[Scaler]:
        for node in walk(expr):
            match node:
                case ast.Attribute(attr="scale"):
                    scaler = self.roles.scaler(node.value, frame)
                case ast.BinOp(op=ast.Mult()):  # loss * scaler.get_scale()
                    scaler = self._got(node.left, frame) or self._got(node.right, frame)
                case ast.Name(ctx=ast.Load()):
                    scaler = self._named(node, frame)
                case _:
                    continue
            if scaler is not None:
                yield scaler

    def reaches_scale(self, expr: ast.expr, frame: Frame, followed: int = 0) -> bool:
        """Whether an expression calls `get_scale`, or a definition of its names does, also in a caller."""
        for node in walk(expr):
            if isinstance(node, ast.Attribute) and node.attr == "get_scale":
                return True
            if not isinstance(node, ast.Name) or followed >= _MAX_FOLLOWED:
                continue
            given = frame.arguments.get(node.id)
            bound = (given.expr, given.frame) if given is not None else (self.bound(node, frame), frame)
            if bound[0] is not node and self.reaches_scale(*bound, followed + 1):
                return True
        return False

    def _got(self, factor: ast.expr, frame: Frame) -> Scaler | None:
        match self.bound(factor, frame):
            case ast.Call(func=ast.Attribute(attr="get_scale", value=owner)):
                return self.roles.scaler(owner, frame)
        return None

    def _is_unscaled(self, product: ast.BinOp, frame: Frame) -> bool:
        """Whether something is divided by the scale: `grads / scaler.get_scale()`, or times its inverse."""
        if not frame.function.module.mentions(b"get_scale"):
            return False
        if isinstance(product.op, ast.Div):
            return self._got(product.right, frame) is not None
        if not isinstance(product.op, ast.Mult):
            return False
        factors = (self.bound(each, frame) for each in (product.left, product.right))
        return any(
            isinstance(each, ast.BinOp) and isinstance(each.op, ast.Div) and self._got(each.right, frame) is not None
            for each in factors
        )

    def _named(self, name: ast.Name, frame: Frame) -> Scaler | None:
        """The scaler of a name that is bound once, to its method: `scale = scaler.scale`."""
        match self.bound(name, frame):
            case ast.Attribute(attr="scale", value=owner):
                return self.roles.scaler(owner, frame)
        return None

    def bound(self, expr: ast.expr, frame: Frame) -> ast.expr:
        """The one definition of a local name; any other expression is returned as it is."""
        found = self.roles.evaluator.lookup(expr.id, frame) if isinstance(expr, ast.Name) else None
        if found is not None and found[1] is frame and len(found[0]) == 1 and found[0][0].kind == "value":
            return found[0][0].expr or expr
        return expr

    def sources(self, expr: ast.AST, frame: Frame) -> frozenset[AccessPath]:
        """The access paths of the variables in an expression, with the prefixes of each: `out` of `out['loss']`.

        Without those read through `.item()` or `.detach()`, or divided by the scale.
        """
        found: set[AccessPath] = set()
        stack = [expr]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Call) and last_name(node.func) in _READ_OUT:
                continue
            value = node.elt if isinstance(node, ast.ListComp | ast.GeneratorExp) else node
            if isinstance(value, ast.BinOp) and self._is_unscaled(value, frame):
                continue
            if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
                found.update(self.roles.path(node, frame).holders())
            if not isinstance(node, ast.Attribute):
                stack.extend(children(node))
            elif isinstance(node.value, ast.Call | ast.BinOp | ast.Subscript):
                stack.append(node.value)
        return frozenset(found)
