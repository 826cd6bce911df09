"""Where a tensor comes from: a weight or a buffer and its module, or the line that made it and why it has its dtype.

Nothing was recorded for this while the program ran. The frames of the error still hold their variables, the source
says which line bound a name, and the graph of autograd says which operation made a tensor out of which dtypes.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.overrides import get_ignored_functions

from ..patching.frames import foreign
from .syntax import UNKNOWN, Call, Scope, node_at, scope_of, text_of, tree_of, value_of

MOST_NODES = 64
Told = dict[str, Any]


class Origins:
    """Looks at the frames of one error."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self._roots = list(_modules(calls))

    def of(self, expression: ast.expr, tensor: torch.Tensor, at: int) -> Told:
        """`kind` and what is known with it, of a tensor that an expression of the call number `at` gave."""
        if state := self._as_state(tensor):
            return state | {"text": state["name"] if foreign(self._calls[at].path) else text_of(expression)}
        return {"text": text_of(expression)} | self._bound(expression, tensor, at)

    def _as_state(self, tensor: torch.Tensor) -> Told:
        """A parameter or a buffer: its name in the largest model that has it, and the class of its owner."""
        best: Told = {}
        size = 0
        for root in self._roots:
            parts = list(torch.nn.Module.named_modules(root))
            for path, owner in parts if len(parts) > size else ():
                for kind, own in (("parameter", owner._parameters), ("buffer", owner._buffers)):
                    for name, each in own.items():
                        if each is tensor or (each is not None and _is_part(tensor, each)):
                            full = ".".join(filter(None, (path, name)))
                            best = {"kind": kind, "name": full, "owner": type(owner).__qualname__}
                            size = len(parts)
        return best

    def _bound(self, expression: ast.expr, tensor: torch.Tensor, at: int) -> Told:
        """`text`, as the project calls it where it is passed to torch, and the line that bound it: in the function of
        the call, else with its caller."""
        told: Told = {}
        while True:
            call = self._calls[at]
            if not foreign(call.path):
                told.setdefault("text", text_of(expression))
                expression, tensor = _whole(expression, tensor, call)
                if not isinstance(expression, ast.Name | ast.Attribute):
                    return told | self._made(expression, tensor, call, expression.lineno)
                scope = scope_of(call)
                if binding := _binding(scope, expression, call):
                    target, source = binding
                    return told | self._made(source, tensor, call, target.lineno)
                if getattr(scope, "name", "") == "backward":
                    return told | {"kind": "gradient"}
            if isinstance(expression, ast.Attribute):
                told |= {"kind": "attribute", "name": text_of(expression), "at": [call.path, call.line]}
                return told | self._graph(tensor)
            passed = self._passed(tensor, at - 1)
            if passed is None:
                return told | {"kind": "unknown"} | self._graph(tensor)
            expression, at = passed

    def _passed(self, tensor: torch.Tensor, at: int) -> tuple[ast.expr, int] | None:
        """The argument by which a call of the project, from number `at` outwards, passed a tensor on."""
        for number in range(at, -1, -1):
            call = self._calls[number]
            if foreign(call.path) or (found := node_at(call)) is None:
                continue
            node = found[0]
            given = [*node.args, *(each.value for each in node.keywords)] if isinstance(node, ast.Call) else []
            values = [value_of(each, call.frame) for each in given]
            same = [each for each, value in zip(given, values, strict=True) if value is tensor]
            like = [each for each, value in zip(given, values, strict=True) if _may_be(value, tensor)]
            best = same or (like if len(like) == 1 else [])
            return (best[0], number) if best else None
        return None

    def _made(self, source: ast.expr | None, tensor: torch.Tensor, call: Call, line: int) -> Told:
        """What the right-hand side of a binding says of the tensor."""
        told: Told = {"kind": "value", "at": [call.path, line]} | self._graph(tensor)
        if source is None:
            return told | {"kind": "data"}
        told["source"] = text_of(source)
        for each in ast.walk(source):
            if isinstance(each, ast.Call):
                function = value_of(each.func, call.frame)
                if isinstance(function, torch.nn.Module):
                    dtypes = {_dtype(own) for own in function.parameters() if own.is_floating_point()}
                    return told | {"kind": "module", "owner": type(function).__qualname__, "weights": sorted(dtypes)}
                is_default = not any(keyword.arg == "dtype" for keyword in each.keywords)
                if function is not UNKNOWN and is_default and _is_factory(function):
                    return told | {"kind": "factory", "name": text_of(each.func)}
        partners = (
            text for text, each in _variables(source, call) if each.dtype is tensor.dtype and each is not tensor
        )
        partner = next(partners, "") if isinstance(source, ast.BinOp) else ""
        return told | ({"partner": partner} if partner else {})

    def _graph(self, tensor: torch.Tensor) -> Told:
        """The operation that made the dtype: it had an input of another one, and perhaps a tensor of this one."""
        node = tensor.grad_fn
        for _ in range(MOST_NODES):
            if node is None:
                break
            before = [each for each, _ in node.next_functions if each is not None]
            others = {
                str(found).removeprefix("torch.") for each in before if (found := _made_dtype(each)) is not tensor.dtype
            }
            others -= {"None"}
            if others:
                partner = self._partner(node, tensor.dtype)
                return {"operator": _operator(node), "inputs": sorted(others)} | (
                    {"partner": partner} if partner else {}
                )
            node = before[0] if before else None
        return {}

    def _partner(self, node: Any, dtype: torch.dtype) -> str:
        """What the promotion is due to: a tensor of this dtype that an operation kept, by its name in a frame."""
        for name in dir(node):
            kept = getattr(node, name, None) if name.startswith("_saved_") else None
            if isinstance(kept, torch.Tensor) and kept.dtype is dtype and kept.dim():
                if state := self._as_state(kept):
                    return str(state["name"])
                return next(_names(kept, self._calls), "")
        return ""


def _modules(calls: Sequence[Call]) -> Iterator[torch.nn.Module]:
    """The modules that variables of the frames hold, each once."""
    seen: set[int] = set()
    for call in calls:
        own = () if foreign(call.path) else call.frame.f_globals.values()
        for each in (*call.frame.f_locals.values(), *own):
            if isinstance(each, torch.nn.Module) and id(each) not in seen:
                seen.add(id(each))
                yield each


def _names(tensor: torch.Tensor, calls: Sequence[Call]) -> Iterator[str]:
    """The variables of the project's frames that hold the memory of a tensor."""
    for call in reversed(calls):
        if not foreign(call.path):
            for name, each in call.frame.f_locals.items():
                if isinstance(each, torch.Tensor) and each.dtype is tensor.dtype and _is_part(tensor, each):
                    yield name


def _variables(source: ast.expr, call: Call) -> Iterator[tuple[str, torch.Tensor]]:
    """The variables in an expression that hold tensors with dimensions: only those make others be promoted."""
    for node in ast.walk(source):
        if isinstance(node, ast.Name | ast.Attribute):
            value = value_of(node, call.frame)
            if isinstance(value, torch.Tensor) and value.dim():
                yield text_of(node), value


def _whole(expression: ast.expr, tensor: torch.Tensor, call: Call) -> tuple[ast.expr, torch.Tensor]:
    """`x` of `x[None]`, `x.detach()` and the like: the variable behind an expression, where it has the same dtype."""
    inner = expression
    while isinstance(inner, ast.Subscript | ast.Call) or (isinstance(inner, ast.Attribute) and inner is not expression):
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
        value = value_of(inner, call.frame)
        is_variable = isinstance(inner, ast.Name | ast.Attribute)
        if is_variable and isinstance(value, torch.Tensor) and value.dtype is tensor.dtype:
            return inner, value
    return expression, tensor


def _may_be(value: Any, tensor: torch.Tensor) -> bool:
    """Whether an expression whose value was computed again, or is not known, may have been that tensor."""
    if value is UNKNOWN:
        return True
    return isinstance(value, torch.Tensor) and value.dtype is tensor.dtype and value.shape == tensor.shape


def _is_part(tensor: torch.Tensor, whole: torch.Tensor) -> bool:
    """Whether both lie in the same memory: a view of a weight is that weight."""
    if tensor.layout is not torch.strided or whole.layout is not torch.strided or not tensor.numel():
        return False
    try:
        return (
            tensor.dtype is whole.dtype
            and tensor.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr() != 0
        )
    except (RuntimeError, NotImplementedError):  # a tensor without memory of its own
        return False


def _binding(scope: Scope | None, expression: ast.expr, call: Call) -> tuple[ast.expr, ast.expr | None] | None:
    """The last place before the line of a call that binds a name: the target, and what is assigned, if that is known.

    A variable of the module is bound anywhere in it.
    """
    name, line = text_of(expression), call.line
    if isinstance(expression, ast.Name) and name not in call.frame.f_locals:
        scope, line = tree_of(call.path), sys.maxsize
    best: tuple[ast.expr, ast.expr | None] | None = None
    for node in ast.walk(scope) if scope is not None else ():
        pairs: list[tuple[ast.expr, ast.expr | None]]
        match node:
            case ast.Assign():
                pairs = [pair for target in node.targets for pair in _pairs(target, node.value)]
            case ast.AnnAssign() | ast.AugAssign() | ast.NamedExpr():
                pairs = [(node.target, node.value)]
            case ast.For() | ast.comprehension():
                pairs = [(each, None) for each, _ in _pairs(node.target, node.iter)]
            case _:
                continue
        for target, value in pairs:
            is_before = target.lineno < line or (value is None and target.lineno <= line)
            if text_of(target) == name and is_before and (best is None or target.lineno >= best[0].lineno):
                best = (target, value)
    return best


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if isinstance(target, ast.Tuple | ast.List):
        inner = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) else None
        for number, each in enumerate(target.elts):
            yield from _pairs(each, inner[number] if inner else value)
    else:
        yield target, value


def _is_factory(function: Any) -> bool:
    """Whether a function of torch's makes a tensor out of no tensor."""
    try:
        return function in get_ignored_functions() and str(getattr(function, "__module__", "torch")).startswith("torch")
    except TypeError:
        return False


def _made_dtype(node: Any) -> torch.dtype | None:
    made = getattr(node, "_input_metadata", ())
    return made[0].dtype if made else None


def _operator(node: Any) -> str:
    """`mul` of `MulBackward0`."""
    return str(node.name()).rpartition("::")[2].partition("Backward")[0].lower()


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
