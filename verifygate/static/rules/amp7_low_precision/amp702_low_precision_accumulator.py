"""A running sum, a count, an average, or gradients are accumulated in half precision.

## What it does
Reports what is added to in a loop, and is kept in float16 or bfloat16: a sum or a count that is made with such a dtype,
an exponential moving average of weights in a model that a cast made half, and the gradients of half weights over
several micro-batches.

## Impact
The sum or average stands still: a count in bfloat16 stops at 256, and 2,221 of 2,242 weights of an average had not
moved after 300 steps.

## Why is this bad
A sum in bfloat16 has eight bits. From 256 on, adding 1 changes nothing; a sum of losses stops as soon as it is some 256
times as large as one of them. An average with a decay of 0.9999 moves by a ten-thousandth of the difference: less than
half the distance to the next number, so it stands still for good. With 0.999 in float16 it stops up to half of a
weight away from it. float16 has eleven bits, and ends at 65504.

## What happens at run time
Silent on every torch. Seen on 2.13 (CPU): a count in bfloat16 stops at 256, and of the weights of an average in
bfloat16 2,221 of 2,242 have not moved after 300 steps with a decay of 0.9999.

## Example
```python
import torch


def train(model, loss_fn, optimizer, batches, device):
    seen = torch.zeros((), dtype=torch.bfloat16, device=device)
    for _ in range(50):
        for inputs, targets in batches:
            optimizer.zero_grad(set_to_none=True)
            loss_fn(model(inputs), targets).backward()
            optimizer.step()
            seen += len(inputs)
    print(int(seen))
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, batches, device):
    seen = torch.zeros((), device=device)
    for _ in range(50):
        for inputs, targets in batches:
            optimizer.zero_grad(set_to_none=True)
            loss_fn(model(inputs), targets).backward()
            optimizer.step()
            seen += len(inputs)
    print(int(seen))
```

## Fix safety
No fix: where the number goes, something may ask for its dtype.

## What it cannot see
Dtypes that come from inputs or configurations, and sums of more than one number: those of a few terms are common in a
model's forward. How many micro-batches there are. Listed as not followed is an average of half weights of which the
source does not tell how much it takes of the new ones, or that a container of tensors holds. In `run` (and by
`check --abstract-run`), programs are also run on an abstract machine, which sees dtypes and factors that an attribute
or an argument holds.

## References
- https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.dtype
"""

import ast
import re
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import HALVES, Dtype
from verifygate.static.facts.module_dtypes import ModuleDtype
from verifygate.static.idioms.half_weights import tell_what_is_open, way_at
from verifygate.static.idioms.running_averages import UPDATES, average_updates, numbers_of
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.enclosing import Loop
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Frame

_AVERAGES = r"lerp_\(|\.mul_\([^\n]*\.add_\("
_NEW = r"zeros\([^\n]*float16|tensor\([^\n]*float16|zeros_like\([^\n]*float16|full\([^\n]*float16"

RULE = Rule(
    code="AMP702",
    name="low-precision-accumulator",
    severity=Severity.MEDIUM,
    summary="a running sum, count, average or gradient is accumulated in half precision",
    remedy="keep what is added to in float32",
    words=(),
    beside=(rf"{_AVERAGES}|{_NEW}|bfloat16", rf"{_AVERAGES}|{_NEW}|\.backward\("),
    proof="told-of-the-same",
)

_MAKE = re.compile(r"^torch\.(zeros|ones|tensor|full|empty|as_tensor|scalar_tensor|zeros_like|ones_like|full_like)$")
_CASTS = {"half": Dtype.FLOAT16, "bfloat16": Dtype.BFLOAT16}
_ROUNDED = {Dtype.BFLOAT16: 2.0**-8, Dtype.FLOAT16: 2.0**-11}
"""Half the distance to the next number, as a share of a number. Less than that, added to it, is lost."""
_FAR = 0.1
"""An average that ends this far from the weights, as a share of them, is none of them."""
_FEW = 8
"""So many summands lose little."""


def looks_beside(analysis: Analysis) -> bool:
    """Whether any file of the project makes something half."""
    return any(re.search(rb"\.half\(|float16", file.data) for file in analysis.program.sources)


def check(analysis: Analysis) -> Iterator[Match]:
    """Sums and counts, averages of weights, and gradients."""
    for function in analysis.functions:
        yield from _sums(function, analysis)
        yield from _averages(function, analysis)
        yield from _gradients(function, analysis)


# -- sums and counts ---------------------------------------------------------------------------------------------------


def _sums(function: Function, analysis: Analysis) -> Iterator[Match]:
    frame = analysis.evaluator.root_frame(function)
    seen: set[str] = set()
    for node, target in _additions(function):
        text = ast.unparse(target)
        if text in seen:
            continue
        made = _made(target, frame, analysis)
        if not made or not all(dtype in HALVES and is_one for _, dtype, is_one in made):
            continue
        origin, dtype, _ = made[0]
        loops = analysis.enclosing.loops(node, function)
        if origin.function is function and all(_holds(each, origin.node) for each in loops):
            continue
        seen.add(text)
        place = Location(function, node)
        limit = "256" if dtype is Dtype.BFLOAT16 else "2048"
        yield Match(
            place,
            f"`{text}` is added to in {dtype}: a count stops at {limit}, and a sum where its terms are small beside it",
            certain=len(made) == 1,
            steps=((origin, "made in half precision"), (place, "added to")),
        )


def _additions(function: Function) -> Iterator[tuple[ast.AST, ast.Name | ast.Attribute]]:
    """The statements that add to a name or an attribute of the object, in place."""
    for node in function.of_kind(ast.AugAssign):
        if isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name | ast.Attribute):
            yield node, node.target
    for call in function.calls:
        match call.func:
            case ast.Attribute(value=ast.Name() | ast.Attribute() as target, attr="add_"):
                yield call, target


def _made(target: ast.expr, frame: Frame, analysis: Analysis) -> list[tuple[Location, Dtype, bool]]:
    """Where what is added to is made, in which dtype, and whether it is one number; empty where not all is known."""
    found: list[tuple[Location, Dtype, bool]] = []
    bindings = [each for each in analysis.dtype_values.bindings(target, frame) if each[0].kind != "changed"]
    buffers = _buffers(target, frame, analysis)
    for binding, home in bindings:
        if binding.kind != "value" or binding.expr is None:
            return []
        buffers.append((binding.expr, home))
    for expr, home in buffers:
        dtype = _dtype_of_new(expr, home, analysis)
        if dtype is None:
            return []
        found.append((Location(home.function, expr), dtype, _is_one_number(expr, home)))
    return found


def _buffers(target: ast.expr, frame: Frame, analysis: Analysis) -> list[tuple[ast.expr, Frame]]:
    """The tensors that the class registers under the name of an attribute of `self`."""
    owner = frame.function.owner
    if owner is None or not isinstance(target, ast.Attribute) or ast.unparse(target.value) != "self":
        return []
    return [
        (call.args[1], analysis.evaluator.root_frame(method))
        for method in owner.methods.values()
        for call in method.calls
        if last_name(call.func) == "register_buffer"
        and len(call.args) > 1
        and isinstance(call.args[0], ast.Constant)
        and call.args[0].value == target.attr
    ]


def _dtype_of_new(expr: ast.expr, frame: Frame, analysis: Analysis) -> Dtype | None:
    """The one dtype of a tensor that an expression makes; None where it makes none, or the dtype is not told."""
    if not isinstance(expr, ast.Call):
        return None
    if isinstance(expr.func, ast.Attribute) and expr.func.attr in (*_CASTS, "to"):
        if not _is_new(_named(expr.func.value, frame), frame, analysis):
            return None
        given = [*expr.args, *(word.value for word in expr.keywords if word.arg == "dtype")]
        if expr.func.attr in _CASTS:
            return _CASTS[expr.func.attr]
    elif _is_new(expr, frame, analysis):
        given = [word.value for word in expr.keywords if word.arg == "dtype"]
    else:
        return None
    for each in given:
        dtypes = analysis.dtype_values.of(each, frame)
        if len(dtypes) == 1 and (dtype := next(iter(dtypes))) in HALVES:
            return dtype
    return None


def _named(expr: ast.expr, frame: Frame) -> ast.expr:
    """What a name that is bound once in the function stands for."""
    found = frame.function.scope.names.get(expr.id, ()) if isinstance(expr, ast.Name) else ()
    only = found[0] if len(found) == 1 and found[0].kind == "value" else None
    return only.expr if only is not None and only.expr is not None else expr


def _is_new(expr: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    return isinstance(expr, ast.Call) and _MAKE.match(analysis.roles.known_name(expr.func, frame)) is not None


def _is_one_number(expr: ast.expr, frame: Frame) -> bool:
    """Whether a call makes a tensor of one number: `torch.tensor(0.0)`, `torch.zeros(())`, `torch.zeros(1)`."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute):
        made = _named(expr.func.value, frame)
        if not isinstance(made, ast.Call):
            break
        expr = made
    if not isinstance(expr, ast.Call) or not expr.args:
        return False
    match expr.args[0]:
        case ast.Constant(value=number):
            return last_name(expr.func) in ("tensor", "as_tensor", "scalar_tensor") or number == 1
        case ast.Tuple(elts=sizes) | ast.List(elts=sizes):
            return all(isinstance(each, ast.Constant) and each.value == 1 for each in sizes)
    return False


def _holds(loop: ast.AST, node: ast.AST) -> bool:
    return any(each is node for each in walk(loop))


# -- averages of weights -----------------------------------------------------------------------------------------------


def _averages(function: Function, analysis: Analysis) -> Iterator[Match]:
    if not any(isinstance(call.func, ast.Attribute) and call.func.attr in UPDATES for call in function.calls):
        return
    frame = analysis.evaluator.root_frame(function)
    for update in average_updates(function, analysis):
        ways = [way for dtype in _ROUNDED if (way := way_at(update.place.node, dtype, update.model, frame, analysis))]
        if not ways:
            tell_what_is_open(update.model, frame, analysis)
            continue
        way = ways[0]
        if not update.is_held:
            reason = f"whether `{statement_text(update.place)}` moves an average in {way.dtype} cannot be told"
            analysis.gave_up(update.place, reason, RULE.code)
            continue
        numbers = numbers_of(update.share, function, analysis) if update.share is not None else {None}
        taken = {min(each, 1.0 - each) for each in numbers if each is not None}
        far = {_ROUNDED[way.dtype] / each for each in taken if each > 0.0}  # a copy at 0, and left alone at 1
        text = statement_text(update.place)
        if far and min(far) >= _FAR:
            yield Match(
                update.place,
                f"`{text}` keeps an average of weights in {way.dtype}, {_where_it_stops(min(far))}: "
                "what it takes of the new ones is smaller than half the distance to the next number",
                certain=way.sure and None not in numbers and min(far) > 1.0,
                steps=((way.cast, "the average is made half"), (update.place, "the average is updated")),
            )
        elif not far and None in numbers:  # what it takes may be large
            reason = f"how much `{text}` takes of new weights, for an average in {way.dtype}, cannot be told"
            analysis.gave_up(update.place, reason, RULE.code)


def _where_it_stops(far: float) -> str:
    """`far` is the greatest distance from the weights at which an average no longer moves, as a share of them.

    The least is half of that: of two numbers with the same distance to the next one may be twice the other.
    """
    return "and stands still" if far > 2.0 else f"which stops up to {far:.0%} of their size away from them"


# -- gradients ---------------------------------------------------------------------------------------------------------


def _gradients(function: Function, analysis: Analysis) -> Iterator[Match]:
    """Gradients of half weights that several backwards add to, before a condition on their number clears them."""
    for call in function.calls:
        if last_name(call.func) != "backward" or not isinstance(call.func, ast.Attribute):
            continue
        loop = next(iter(analysis.enclosing.loops(call, function)), None)
        window = _window(loop, call, function, analysis) if loop is not None else None
        if loop is None or window is None:
            continue
        way = _half_model(call.func.value, function, analysis)
        if way is not None:
            place = Location(function, call)
            yield Match(
                way.cast,
                f"`{statement_text(place)}` adds the gradients of several micro-batches to each other in {way.dtype}, "
                "the dtype of the weights",
                certain=False,
                steps=((way.cast, "the weights are made half"), (place, "the backward")),
                remedy="keep the weights in float32, or add the gradients up in float32 tensors",
            )
            return


def _window(loop: Loop, backward: ast.Call, function: Function, analysis: Analysis) -> ast.expr | None:
    """What the number of micro-batches is compared with, where only then gradients are cleared."""
    if any(each in _conditions(loop) for each, _ in analysis.enclosing.conditions(backward, function)):
        return None
    frame = analysis.evaluator.root_frame(function)
    clearing = [call for call in function.calls if last_name(call.func) == "zero_grad"]
    clearing += [
        each  # type: ignore[misc]
        for each in function.of_kind(ast.Assign)
        if isinstance(each.targets[0], ast.Attribute) and each.targets[0].attr == "grad"
    ]
    windows: list[ast.expr] = []
    for each in clearing:
        if loop not in analysis.enclosing.loops(each, function):
            continue
        tests = [test for test, holds in analysis.enclosing.conditions(each, function) if holds]
        found = [
            node.right
            for test in tests
            for node in walk(test)
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
        ]
        if not found:
            return None
        windows += found
    if not windows:
        return None
    number = analysis.constants.number(windows[0], frame)
    return windows[0] if number is None or number >= _FEW else None


def _conditions(loop: ast.AST) -> set[ast.expr]:
    return {node.test for node in walk(loop) if isinstance(node, ast.If)}


def _half_model(loss: ast.expr, function: Function, analysis: Analysis) -> ModuleDtype | None:
    """The way in which the one model that gives a loss is half for sure."""
    frame = analysis.evaluator.root_frame(function)
    names = {node.id for node in walk(loss) if isinstance(node, ast.Name)}
    exprs = [each.expr for name in names for each in function.scope.names.get(name, ()) if each.expr is not None]
    for expr in (loss, *exprs):
        for node in walk(expr):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                for dtype in _ROUNDED:
                    way = way_at(node, dtype, node.func, frame, analysis)
                    if way is not None and way.sure:
                        return way
    return None
