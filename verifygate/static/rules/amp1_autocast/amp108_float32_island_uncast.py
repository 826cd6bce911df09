"""An island of `autocast(enabled=False)` computes in half precision all the same: nobody cast what goes in.

## What it does
Reports a region with `enabled=False` (an island) in which nothing is cast, neither directly nor in the functions that
it calls, if it is

- inside an active region of the same function, and computes with what a call in the outer region returned;
- after an active region, and computes a loss of the region's results.

Also, wherever the region is, an operation of which one side is cast and the other, the same chain of calls on another
tensor, is not.

## Impact
What the island was to protect rounds and overflows in float16, or a dtype mismatch stops the run.

## Why is this bad
Switching autocast off does not cast anything back. The results of the outer region are half precision, and operations
in the island keep that dtype. So the sums and logarithms that the island was written for round and overflow in
float16, although autocast would have computed them in float32.

## What happens at run time
Silent where all operands are half (seen on torch 2.13, CPU: `(h**2).sum()` stays float16, a loss in such an island
makes the first step overflow); raises a dtype mismatch where a layer with float32 weights is among them.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            outputs = model(inputs)
            with torch.autocast(device, enabled=False):
                loss = loss_fn(outputs, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            outputs = model(inputs)
            with torch.autocast(device, enabled=False):
                loss = loss_fn(outputs.float(), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No automatic fix: which of the inputs are half precision is not certain.

## What it cannot see
What dtype a call returns: findings are likely, never certain. A region in another function counts where that calls
the function of the island itself, with an output that has a name.
A function that no file of the project holds may cast what it is given: that is noted as not followed.
An island in which anything is cast is taken to be careful, but for two sides of one operation.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

import ast
import re
from collections.abc import Iterable, Iterator

from verifygate.model import Severity
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.analysis import Analysis
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.scopes import bound_targets
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import ExternalName, ExternalResult

RULE = Rule(
    code="AMP108",
    name="float32-island-uncast",
    severity=Severity.MEDIUM,
    summary="an `autocast(enabled=False)` region computes with half-precision inputs that nothing casts",
    remedy="cast what goes into the island with `.float()`",
    words=("autocast",),
    proof="scale-trace-default",
)

_LOSS = r"(?i)loss|crit|objective"
_NUMBERS = r"(?i)temp|tau$|^t$|scale|weight$|alpha|beta"
_KNOWN = ("torch.", "builtins.", "math.", "numpy.", "functools.", "itertools.")
"""Libraries whose functions cast nothing on their own."""
_CASTS = r"\.float\(|float32|float64|\.double\(|\.to\(|\.type\(|\.type_as\(|\.item\(|\.int\(|\.long\("


def check(analysis: Analysis) -> Iterable[Match]:
    """Islands whose nearest region around them is active, or that come after one."""
    for region in analysis.written_regions.all:
        if region.is_active or not region.calls:
            continue
        yield from _forgotten_twins(region)
        around = region.around or _before(region, analysis)
        if around is None:
            if name := _handed_in(region, analysis):
                message = f"nothing casts `{name}`, which a caller's region may leave in half precision"
                yield Match(region.place, message, certain=False)
            continue
        if not around.is_active:
            continue
        considered = [call for call in region.calls if region.around or _is_loss(call)]
        read = _read(considered)
        used = sorted(_made_around(region, around, analysis) & read) if read else []
        if not used or _is_careful(region, analysis):
            continue
        known = _read(call for call in considered if not _is_out_of_sight(call, region, analysis))
        if seen := [name for name in used if name in known]:
            which = "outer region" if region.around else "region before"
            message = f"nothing casts `{seen[0]}`, which the {which} may leave in half precision"
            yield Match(region.place, message, certain=False)
        else:
            foreign = next(call for call in considered if _is_out_of_sight(call, region, analysis))
            reason = (
                f"whether `{ast.unparse(foreign.func)}`, which is not in the project, casts what the island gives it"
            )
            analysis.gave_up(region.place, reason, RULE.code)


def _forgotten_twins(island: WrittenRegion) -> Iterator[Match]:
    """`a.float().sigmoid() * b.sigmoid()`: who casts the one side means the other as well."""
    for node in island.nodes:
        sides = [_chain(node.left), _chain(node.right)] if isinstance(node, ast.BinOp) else []
        if not sides or None in sides:
            continue
        (one, casts), (other, others) = sides  # type: ignore[misc]
        if one != other and "float" in casts + others:
            plain = [name for name, calls in ((one, casts), (other, others)) if "float" not in calls]
            same = [[call for call in calls if call != "float"] for calls in (casts, others)]
            if len(plain) == 1 and same[0] and same[0] == same[1]:
                message = f"the other side of this operation is cast, `{plain[0]}` is not and may be half precision"
                yield Match(Location(island.function, node), message, certain=False)


def _chain(expr: ast.expr) -> tuple[str, list[str]] | None:
    """The variable at the start of a chain of method calls, and the calls, without their arguments."""
    calls: list[str] = []
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute):
        calls.append(expr.func.attr)
        expr = expr.func.value
    return (expr.id, calls) if isinstance(expr, ast.Name) else None


def _before(island: WrittenRegion, analysis: Analysis) -> WrittenRegion | None:
    """The last region before an island, where it runs whenever the island does."""
    start = island.block.lineno  # type: ignore[attr-defined]
    held = set(analysis.enclosing.conditions(island.block, island.function))
    earlier = [
        each
        for each in analysis.written_regions.by_function[island.function]
        if each.is_active
        and each.block is not island.function.node
        and (each.block.end_lineno or start) < start  # type: ignore[attr-defined]
        and held.issuperset(analysis.enclosing.conditions(each.block, each.function))
    ]
    return earlier[-1] if earlier else None


def _handed_in(island: WrittenRegion, analysis: Analysis) -> str:
    """The parameter that an island computes with as it is, and that a call in an active region gives an output."""
    function = island.function
    called = {call.func.value.id for call in island.calls if _is_on_a_name(call)}  # type: ignore[attr-defined]
    seen = [call for call in island.calls if not _is_out_of_sight(call, island, analysis)]
    used = (_read(seen) | called) & {each.arg for each in function.parameters}
    used = {name for name in used if len(function.scope.names[name]) == 1}
    if not used or _is_careful(island, analysis):
        return ""
    for site in analysis.call_graph.sites(function):
        around = analysis.region_coverage.written_around(site.call, site.caller)
        if around is None or not around.is_active:
            continue
        frame = analysis.evaluator.root_frame(site.caller)
        outputs = _outputs_before(site.call.lineno, site.caller, around, analysis)
        for callee in analysis.evaluator.callees(site.call, frame):
            if callee.function is not function:
                continue
            entered = analysis.evaluator.enter(callee, site.call, frame)
            given = entered.arguments if entered is not None else {}
            for name in sorted(used & set(given)):
                if isinstance(expr := given[name].expr, ast.Name) and expr.id in outputs:
                    return name
    return ""


def _is_out_of_sight(call: ast.Call, island: WrittenRegion, analysis: Analysis) -> bool:
    """Whether a call runs a function or an object of an import that leads to no file: it may cast what it is given."""
    values = analysis.evaluator.values(call.func, analysis.evaluator.root_frame(island.function))
    return bool(values) and all(
        isinstance(value, ExternalName | ExternalResult) and not value.name.startswith(_KNOWN) for value in values
    )


def _is_on_a_name(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)


def _is_loss(call: ast.Call) -> bool:
    return re.search(_LOSS, last_name(call.func)) is not None


def _made_around(island: WrittenRegion, around: WrittenRegion, analysis: Analysis) -> set[str]:
    """Variables that hold, where the island begins, what a call of no known library function in the region returned."""
    return _outputs_before(island.block.lineno, island.function, around, analysis)  # type: ignore[attr-defined]


def _outputs_before(start: int, function: Function, around: WrittenRegion, analysis: Analysis) -> set[str]:
    """The same for any line of a function."""
    frame = analysis.evaluator.root_frame(function)
    names: set[str] = set()
    inside = set(around.nodes)
    for target, binding in bound_targets(function.own_nodes):
        if not isinstance(target, ast.Name) or getattr(binding.node, "lineno", start) >= start:
            continue
        names.discard(target.id)
        if binding.node not in inside:
            continue
        call = binding.expr
        if (
            binding.kind in ("value", "item")
            and isinstance(call, ast.Call)
            and not re.search(_CASTS, ast.unparse(call))
        ):
            values = analysis.evaluator.values(call.func, frame)
            is_method = isinstance(call.func, ast.Attribute) and call.func.attr not in ("forward", "model", "net")
            is_method = is_method and not analysis.hot_loops.is_model(call.func, function)
            if not is_method and not any(isinstance(value, ExternalName) for value in values):
                names.add(target.id)
    return names


def _read(calls: Iterable[ast.Call]) -> set[str]:
    """Variables that go into calls as they are, or times a number."""
    given = (_unweighed(argument) for call in calls for argument in call.args)
    return {each.id for each in given if isinstance(each, ast.Name)}


def _unweighed(expr: ast.expr) -> ast.expr:
    """What an expression divides or multiplies by a number: of the same dtype."""
    while isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Div | ast.Mult) and _is_number(expr.right):
        expr = expr.left
    return expr


def _is_number(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Constant) or re.search(_NUMBERS, last_name(expr)) is not None


def _is_careful(island: WrittenRegion, analysis: Analysis) -> bool:
    """Whether anything in the island, or in a function of the project that it calls, casts."""
    if any(re.search(_CASTS, ast.unparse(node)) for node in island.calls):
        return True
    frame = analysis.evaluator.root_frame(island.function)
    callees = (callee for call in island.calls for callee in analysis.evaluator.callees(call, frame))
    return any(re.search(_CASTS, ast.unparse(callee.function.node)) for callee in callees)
