"""A constant that half precision cannot hold meets a half tensor inside an autocast region.

## What it does
Reports `masked_fill`, `clamp`, `full_like`, `fill_`, `torch.where` and `x[mask] = ...` with a finite constant beyond
65504 on a tensor that is half inside a float16 region: a product of matrices, a convolution, or what is computed from
one by operators that keep the dtype. The output of a layer that is not known is likely half. The constant may go to a
function of the project that does no more with it, or be an attribute of the class; the region may be a framework's:
of apex, or of one that is given a precision.

Also, never as certain and with medium severity: a mask that a cast made half, times such a constant, which is added to
a half tensor (`scores + (1 - mask.half()) * -1e9` adds -inf); and two masks of the lowest half that are added, whose
sum is -inf where both apply. A mask that stays float32 is right: the sum is float32 then.

## Impact
The first batch under AMP raises a RuntimeError, or inf and NaN go into the loss.

## Why is this bad
65504 is the largest float16. `-1e9` is the usual constant for masked attention scores, and works until somebody
switches AMP on.

## What happens at run time
`masked_fill`, `clamp` and `full_like` raise (torch 2.13; `at::Half` before):
`RuntimeError: value cannot be converted to type c10::Half without overflow`. `torch.where` and an assignment by a mask
are silent and give inf, of which a softmax over a row that is masked whole makes NaN. So do products and sums.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            outputs = model(inputs)
            scores = outputs @ outputs.t()
            scores = scores.masked_fill(torch.eye(len(scores), dtype=torch.bool), -1e9)
            loss = loss_fn(outputs, targets) + scores.softmax(-1).mean()
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
            scores = outputs @ outputs.t()
            lowest = torch.finfo(scores.dtype).min
            scores = scores.masked_fill(torch.eye(len(scores), dtype=torch.bool), lowest)
            loss = loss_fn(outputs, targets) + scores.softmax(-1).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No fix: `torch.finfo(x.dtype).min` and `float("-inf")` differ in rows that are masked whole.

## What it cannot see
Tensors whose dtype the caller decides, and constants from configurations. In files without a word of AMP, limits of a
type that is kept in a variable called `dtype`: `torch.finfo(dtype).min`.

## References
- https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference
"""

import ast
import re
from collections.abc import Iterable, Iterator

from verifygate.model import Severity, Witness
from verifygate.static.analysis import Analysis
from verifygate.static.facts.delegation import WORDS
from verifygate.static.facts.dtype_lattice import FLOAT16_MAX, Dtype
from verifygate.static.facts.region_dtypes import AssumedDevice
from verifygate.static.facts.tensor_dtypes import UNKNOWN_LAYERS
from verifygate.static.idioms.additive_masks import added_masks
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name

_ELSEWHERE = r"(?<!\bint\(.e)(?<!\btensor\(.e)(?<!\btensor\(-.e)(?<!\bfilled\(fill_value=.e)"
"""Calls that make something else of a number: `int(1e30)`."""
_LARGE = (
    rf"e(?<=[\d.]e)(?<![A-Za-z_\"'].e){_ELSEWHERE}\+?0?(?:[5-9]|[1-3]\d)\b|E(?<=[\d.]E)\+?0?(?:[5-9]|[1-3]\d)\b"
    r"|-(?<=\W-)(?:[1-9][\d_]{5}|(?:2|10) ?\*\* ?[1-9])"
)
_LIMIT = r"finfo\((?:[^()\n]*\b(?:float(?:32|64)?|double|single)|(?!\w*dtype\b)\w*)\)\.m(?:ax|in)"
"""The largest or smallest number of a type that is written out, or is a constant's; not of a tensor's own dtype."""
_FILLS = r"def \w*(?:fill|masked)\w*\((?=(?:(?!\n(?:def|class) )[\s\S])*?masked_fill)"
_LOWEST = r"finfo\((?:[\w.\[\]]*dtype|torch\.(?:b?float16|half))\)\.min"
"""The lowest number of half, or of a tensor's own dtype."""
_FACTOR = r"\*\s*\(?-\s*\d[\d.]*e\d|\de\+?\d+\s*\*"
_LARGE_ITEM = (
    r"\](?<![\"']\])\s*=\s*[-+]?\s*(?:[\d.]+[eE]\+?\d|\d[\d_]{4,}|\d+\s*\*\*|(?!None\b)[A-Za-z_]\w*\s*(?:#|\n|\Z))"
)
"""An item that gets a large number, or what a name stands for: only files with one are looked through for them."""

RULE = Rule(
    code="AMP403",
    name="mask-overflow",
    severity=Severity.HIGH,
    summary="a constant beyond 65504 on a half tensor inside a float16 region",
    remedy="use `torch.finfo(x.dtype).min`, or compute in float32 there",
    words=("autocast", *WORDS),
    beside=(
        rf"{_LARGE}|{_FILLS}|{_LIMIT}|{_LOWEST}",
        rf"masked_fill|clamp|full_like|fill_\(|new_full|where\(|{_LARGE_ITEM}|{_FACTOR}|{_LOWEST}",
        r"import\b(?:[^\n\\]|\\\n)*torch|from\b(?:[^\n\\]|\\\n)*torch|import\s*\([^)]*torch",
    ),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="raised-error",
)

_METHODS = {"full_like": 0, "fill_": 0, "new_full": 1} | {
    "masked_fill": 1,
    "masked_fill_": 1,
    "clamp": 0,
    "clamp_": 0,
    "clamp_min": 0,
    "clamp_max": 0,
}
"""Method -> position of the constant."""
_KEYWORDS = ("value", "min", "max", "other", "fill_value")


def looks_beside(analysis: Analysis) -> bool:
    """Whether some region, or a framework, may compute in float16."""
    return analysis.may_be_float16 or bool(analysis.delegation.calls)


def check(analysis: Analysis) -> Iterable[Match]:
    """Every large constant on a half tensor that a float16 region covers."""
    if not looks_beside(analysis):
        return
    for node, function, subject in _candidates(analysis):
        frame = analysis.evaluator.root_frame(function)
        sure = analysis.tensor_dtypes.is_half(subject, frame)
        if not sure and not analysis.tensor_dtypes.is_half(subject, frame, UNKNOWN_LAYERS):
            continue
        if under := _region(node, function, analysis):
            region, certain = under
            place = Location(function, node)
            silent = isinstance(node, ast.Assign) or last_name(node.func) == "where"
            yield Match(
                place,
                f"`{statement_text(place)}`: float16 ends at 65504",
                certain=sure and certain and not silent,
                steps=((region, "the region"), (place, "the constant")),
            )
    yield from _added(analysis)


def _added(analysis: Analysis) -> Iterator[Match]:
    """Masks that become -inf where they are added."""
    written = re.compile(f"{_FACTOR}|{_LOWEST}".encode())
    summing = {module for module in analysis.modules if written.search(module.file.data)}
    for function in analysis.functions:
        if function.module not in summing:
            continue
        for each in added_masks(function, analysis):
            if (under := _region(each.node, function, analysis)) is None:
                continue
            place, mask = Location(function, each.node), Location(function, each.mask)
            what = "the lowest half twice is -inf" if each.twice else "the mask is half, and float16 ends at 65504"
            yield Match(
                place,
                f"`{statement_text(place)}`: {what}, and a softmax over a row that is masked whole is NaN",
                certain=False,
                severity=Severity.MEDIUM,
                steps=((under[0], "the region"), (mask, "the mask")),
                remedy="join the masks by `|` or `&` and fill once with `torch.finfo(x.dtype).min`"
                if each.twice
                else "",
            )


def _region(node: ast.AST, function: Function, analysis: Analysis) -> tuple[Location, bool] | None:
    """The float16 region in which a node runs, and whether it surely does: one of the project's, or a framework's."""
    cover = analysis.region_coverage.cover(node, function)
    if cover is not None:
        # on whatever device: the constant overflows as soon as it is CUDA
        dtypes = analysis.region_dtypes.of(cover.region, AssumedDevice.CUDA_IF_POSSIBLE)
        return (cover.region.place, cover.certain and dtypes == {Dtype.FLOAT16}) if Dtype.FLOAT16 in dtypes else None
    if analysis.region_coverage.written_around(node, function) is not None:
        return None
    framework = analysis.delegation.over(function)
    return (framework, False) if framework is not None else None


def _candidates(analysis: Analysis) -> Iterator[tuple[ast.Call | ast.Assign, Function, ast.expr]]:
    """What brings a tensor together with a constant beyond the range of float16."""
    with_items = {module for module in analysis.modules if re.search(_LARGE_ITEM.encode(), module.file.data)}
    for function in (each for each in analysis.functions if each.module in with_items):
        yield from ((node, function, tensor) for node, tensor in _assignments(function, analysis))
    fills: dict[Function, tuple[str, str]] = {}
    for call, function in analysis.calls:
        if not isinstance(call.func, ast.Attribute):
            continue
        if (subject := _overflowing(call, function, analysis)) is not None:
            yield call, function, subject
        elif names := _handed_on(call, function):
            fills[function] = names
    for fill, names in fills.items():
        for call, function in _calls_of(fill, analysis):
            if subject := _handed(call, function, fill, names, analysis):
                yield call, function, subject


def _assignments(function: Function, analysis: Analysis) -> Iterator[tuple[ast.Assign, ast.expr]]:
    """`x[mask] = constant`, and x; a constant index is more likely a dict's."""
    for node in function.of_kind(ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Subscript(value=tensor, slice=index)], value=value):
                plain = isinstance(value, ast.Constant | ast.UnaryOp | ast.BinOp | ast.Name)
                if plain and not isinstance(index, ast.Constant) and _too_large(value, function, analysis):
                    yield node, tensor


def _handed_on(call: ast.Call, function: Function) -> tuple[str, str] | None:
    """The parameters of a function that fills one, a tensor, with the other: nothing else is done to either."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("masked_fill", "masked_fill_"):
        return None
    value = call.args[1] if len(call.args) > 1 else next((w.value for w in call.keywords if w.arg == "value"), None)
    names = [each.id for each in (call.func.value, value) if isinstance(each, ast.Name)]
    own = {parameter.arg for parameter in function.parameters}
    plain = len(names) == 2 and all(name in own and len(function.scope.names[name]) == 1 for name in names)
    return (names[0], names[1]) if plain else None


def _calls_of(fill: Function, analysis: Analysis) -> Iterator[tuple[ast.Call, Function]]:
    """The calls that bear a function's name, also in files that no word picked."""
    name = fill.name.encode()
    for file in analysis.program.sources:
        module = analysis.program.module(file.path) if name in file.data else None
        for function in module.holding(name) if module is not None else ():
            for node in function.calls:
                if last_name(node.func) == fill.name:
                    yield node, function


def _handed(
    call: ast.Call, function: Function, fill: Function, names: tuple[str, str], analysis: Analysis
) -> ast.expr | None:
    """The tensor that a call of such a function hands it together with too large a constant."""
    frame = analysis.evaluator.root_frame(function)
    for callee in analysis.evaluator.callees(call, frame):
        entered = analysis.evaluator.enter(callee, call, frame) if callee.function is fill else None
        tensor, constant = (entered.arguments.get(name) for name in names) if entered else (None, None)
        if tensor is not None and constant is not None and constant.frame is frame:
            return tensor.expr if _too_large(constant.expr, function, analysis) else None
    return None


def _overflowing(call: ast.Call, function: Function, analysis: Analysis) -> ast.expr | None:
    """The tensor that meets a finite constant beyond the range of float16."""
    if not isinstance(call.func, ast.Attribute):
        return None
    frame = analysis.evaluator.root_frame(function)
    if call.func.attr == "where" and len(call.args) == 3:
        numbers = [_too_large(argument, function, analysis) for argument in call.args[1:]]
        return call.args[2] if numbers == [True, False] else (call.args[1] if numbers == [False, True] else None)
    if call.func.attr not in _METHODS or any(word.arg == "dtype" for word in call.keywords):
        return None
    subject, given = call.func.value, call.args[_METHODS[call.func.attr] :]
    if known := analysis.roles.known_name(call.func, frame):
        if not known.startswith("torch.") or len(call.args) + len(call.keywords) < 2 or not call.args:
            return None
        subject, given = call.args[0], call.args[1 + _METHODS[call.func.attr] :]
    given += [word.value for word in call.keywords if word.arg in _KEYWORDS]
    return subject if any(_too_large(each, function, analysis) for each in given) else None


def _too_large(expr: ast.expr, function: Function, analysis: Analysis) -> bool:
    number = analysis.constants.number(expr, analysis.evaluator.root_frame(function))
    return number is not None and FLOAT16_MAX < abs(number) < float("inf")
