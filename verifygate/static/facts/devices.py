"""Value-set analysis of device types.

`torch.device("cuda" if torch.cuda.is_available() else "cpu")` is {"cuda", "cpu"}.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.amp.roles import Region, Roles, identifiers
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import ExternalResult, Frame, Literal

ANY = "?"
"""Top: a device that the source does not tell."""

TYPES = frozenset({"cpu", "cuda", "mps", "xpu", "hpu", "mtia", "xla", "npu", "ipu", "meta"})
_MOVES = frozenset({"to", "cuda", "xpu", "npu"})
_MAX_FOLLOWED = 8


class Devices:
    """Answers for one set of modules; a device from a command line or a configuration is ANY."""

    def __init__(self, roles: Roles) -> None:
        self.roles = roles

    def types(self, expr: ast.expr, frame: Frame, followed: int = 0) -> frozenset[str]:
        """The device types that `expr`, a device or the name of one, may stand for."""
        if followed > _MAX_FOLLOWED:
            return frozenset({ANY})
        match expr:
            case ast.IfExp():
                return self.types(expr.body, frame, followed + 1) | self.types(expr.orelse, frame, followed + 1)
            case ast.Attribute(attr="type"):
                return self.types(expr.value, frame, followed + 1)
            case ast.Call(args=[only]) if last_name(expr.func) == "str":
                return self.types(only, frame, followed + 1)
            case ast.Call(func=ast.Attribute(attr="get"), args=[_, default]):
                return self.types(default, frame, followed + 1) | {ANY}
            case ast.Name():
                if found := self._of_name(expr, frame, followed):
                    return found
        return frozenset(self._of_values(expr, frame, followed))

    def of(self, region: Region) -> frozenset[str]:
        """The device types that a region is for: ANY alone where the call that opens it is not in sight."""
        device = region.device
        if device is None:
            return frozenset({ANY})
        return frozenset({device}) if isinstance(device, str) else self.types(device.expr, device.frame)

    def _of_name(self, expr: ast.Name, frame: Frame, followed: int) -> frozenset[str]:
        bindings, home = self.roles.evaluator.lookup(expr.id, frame) or ([], frame)
        if not bindings or any(each.kind != "value" or each.expr is None for each in bindings):
            return frozenset()
        found = [self.types(each.expr, home, followed + 1) for each in bindings if each.expr is not None]
        return frozenset().union(*found)

    def _of_values(self, expr: ast.expr, frame: Frame, followed: int) -> Iterator[str]:
        for value in self.roles.evaluator.values(expr, frame):
            match value:
                case Literal(value=str(text)) if text.partition(":")[0] in TYPES:
                    yield text.partition(":")[0]
                case Literal(value=int(number)) if not isinstance(number, bool):
                    yield "cuda"
                case ExternalResult(name="torch.device", calls=((call, inner), *_)) if call.args:
                    yield from self.types(call.args[0], inner, followed + 1)
                case _:
                    yield ANY

    def placed(self, region: WrittenRegion, frame: Frame) -> list[tuple[ast.AST, frozenset[str]]]:
        """The calls that move an input of a region to a device, in its function, with the device types."""
        moved_here = {id(call.func.value) for call in region.calls if _is_move(call)}  # type: ignore[attr-defined]
        names = [node for node in region.nodes if isinstance(node, ast.Name)]
        used = {node.id for node in names if not _is_stored(node) and id(node) not in moved_here}
        used |= {node.attr for node in region.nodes if isinstance(node, ast.Attribute) and id(node) not in moved_here}
        results = {node.id for node in names if _is_stored(node)}
        end = getattr(region.block, "end_lineno", None) or 0
        found: list[tuple[ast.AST, frozenset[str]]] = []
        for node in region.function.own_nodes:
            if getattr(node, "lineno", 0) > end:
                continue
            if isinstance(node, ast.Assign) and node not in region.nodes:
                value = node.value.elt if isinstance(node.value, ast.ListComp) else node.value
                targets = frozenset[str]().union(*(identifiers(target) for target in node.targets)) & used
                if isinstance(value, ast.Call) and _left(targets, node, region):
                    found.append((node, self._placement(value, frame)))
            elif isinstance(node, ast.Call) and _is_move(node):
                moved = node.func.value  # type: ignore[attr-defined]
                in_region = id(moved) in moved_here
                if isinstance(moved, ast.Name | ast.Attribute) and last_name(moved) not in results:
                    types = self._placement(node, frame)
                    # what goes to the CPU in the region goes out of it
                    counts = types != {"cpu"} if in_region else _left({last_name(moved)} & used, node, region)
                    if counts:
                        found.append((node, types))
        return [(node, types) for node, types in found if types]

    def _placement(self, call: ast.Call, frame: Frame) -> frozenset[str]:
        """The device types of the result of `x.to(device)`, `x.cuda()`, `torch.zeros(device=device)`; else empty."""
        keyword = next((word.value for word in call.keywords if word.arg == "device"), None)
        if keyword is not None:
            return self.types(keyword, frame)
        if not isinstance(call.func, ast.Attribute):
            return frozenset()
        if call.func.attr in _MOVES - {"to"} and len(call.args) <= 1:
            return frozenset({call.func.attr})
        if call.func.attr != "to" or not call.args or self._is_dtype(call.args[0], frame):
            return frozenset()
        return self.types(call.args[0], frame)

    def _is_dtype(self, expr: ast.expr, frame: Frame) -> bool:
        return self.roles.known_name(expr, frame).startswith("torch.") or "dtype" in last_name(expr)


def _is_move(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES


def _left(names: Iterable[str], move: ast.AST, region: WrittenRegion) -> bool:
    """Whether some name is still what a move made of it when the region is entered: nothing binds it anew between."""
    return any(
        not (reach := reaching(name, region.context, region.function))
        or any(getattr(each.node, "lineno", 0) <= move.lineno for each in reach)  # type: ignore[attr-defined]
        for name in names
    )


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
