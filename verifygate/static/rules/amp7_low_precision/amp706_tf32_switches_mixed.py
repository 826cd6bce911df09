"""TF32 is turned on by one interface of torch and off by another.

## What it does
Reports a statement that says the opposite of an earlier one about the same operators, by another of torch's three
interfaces: the flags `allow_tf32`, the function `set_float32_matmul_precision`, and, since torch 2.9, the attributes
`fp32_precision`.

## Impact
Products run in TF32 where IEEE precision was asked for, or the other way round, and a library that reads the switch
raises.

## Why is this bad
Each interface keeps a state of its own, and only some writes change the others' as well. What is computed is what the
last one left, or what the first one left where the last has no effect; nothing tells which. torch refuses to tell a
state that is contradictory: it raises where somebody reads it, which may be a library.

## What happens at run time
Seen on 2.13, CPU (what is said of the products themselves is what the switches decide on CUDA):

| first | then | result |
|---|---|---|
| `set_float32_matmul_precision("high")` | `matmul.allow_tf32 = False` | IEEE; `get_float32_matmul_precision()` raises |
| `matmul.allow_tf32 = False` | `set_float32_matmul_precision("high")` | TF32 |
| `matmul.allow_tf32 = True` | `matmul.fp32_precision = "ieee"` | IEEE; reading `matmul.allow_tf32` raises |
| `matmul.allow_tf32 = False` | `matmul.fp32_precision = "tf32"` | TF32; both old getters raise |
| `matmul.allow_tf32 = False` | `backends.fp32_precision = "tf32"` | IEEE: no effect; the old getter raises |
| `matmul.allow_tf32 = True` | `backends.fp32_precision = "ieee"` | TF32: no effect; reading `cudnn.allow_tf32` raises |
| `cudnn.allow_tf32 = True` | `cudnn.conv.fp32_precision = "ieee"` | IEEE; reading `cudnn.allow_tf32` raises |

The error is `RuntimeError: PyTorch is checking whether allow_tf32 ... it seems that you are using mix of the legacy and
new APIs`. On torch before 2.9 nothing raises: the last one decides.

## Example
```python
import torch


def train(model, loss_fn, optimizer, batches):
    torch.set_float32_matmul_precision("high")
    torch.backends.cuda.matmul.allow_tf32 = False
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
    return torch.get_float32_matmul_precision()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, batches):
    torch.set_float32_matmul_precision("high")
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
    return torch.get_float32_matmul_precision()
```

## Fix safety
No fix: which of the two is meant, the source does not say.

## What it cannot see
Values that come from settings; statements in different modules, which an import may or may not bring together. Two
statements that agree are left alone, also where torch would not have the interfaces mixed: nothing raises then. One
interface that is written twice is left alone too: a benchmark turns TF32 on and off.

## References
- https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices
- https://github.com/pytorch/pytorch/issues/166387
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.tf32_switches import ATTRIBUTE, FLAG, Switch, switches
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.program import Function, Module

RULE = Rule(
    code="AMP706",
    name="tf32-switches-mixed",
    severity=Severity.HIGH,
    summary="TF32 is turned on by one interface of torch and off by another",
    remedy="say it once, by one interface: `fp32_precision` from torch 2.9 on, else `set_float32_matmul_precision`",
    words=(FLAG, ATTRIBUTE),
    proof="raised-error",
)


def check(analysis: Analysis) -> Iterator[Match]:
    """Each statement against the last one of another interface before it: in its function, and in the module's body."""
    for module in analysis.modules:
        if not module.mentions(FLAG.encode(), ATTRIBUTE.encode()):
            continue
        outer = list(switches(module.body, analysis))
        yield from _contradictions(outer, (), analysis)
        for function in _functions(module):
            yield from _contradictions(list(switches(function, analysis)), outer, analysis)


def _functions(module: Module) -> Iterator[Function]:
    return (each for each in module.all_functions if each is not module.body)


def _contradictions(own: list[Switch], outer: list[Switch] | tuple[()], analysis: Analysis) -> Iterator[Match]:
    for at, later in enumerate(own):
        earlier = next(
            (each for each in reversed([*outer, *own[:at]]) if _says_the_opposite(each, later, analysis)), None
        )
        if earlier is None or any(_ends(each, earlier, later) for each in own[:at]):
            continue
        both = earlier.place.function is later.place.function
        yield Match(
            later.place,
            f"`{statement_text(later.place)}` contradicts `{statement_text(earlier.place)}`, "
            "which is another interface to the same switch",
            certain=both and _is_straight(earlier, later, analysis),
            steps=((earlier.place, _told(earlier)), (later.place, _told(later))),
        )


def _says_the_opposite(earlier: Switch, later: Switch, analysis: Analysis) -> bool:
    """Whether two statements that may both run are of two interfaces, about one kind of operator, and disagree."""
    if earlier.on is later.on or earlier.interface == later.interface or not earlier.operators & later.operators:
        return False
    return analysis.path_conditions.agree(earlier.place, later.place)


def _ends(between: Switch, earlier: Switch, later: Switch) -> bool:
    """Whether a statement between the two writes the earlier one's interface as the later one says."""
    after = between.place.line > earlier.place.line or between.place.function is not earlier.place.function
    same = between.interface == earlier.interface and between.operators >= earlier.operators
    return after and same and between.on is later.on


def _is_straight(earlier: Switch, later: Switch, analysis: Analysis) -> bool:
    """Whether the second statement follows the first in one block, with nothing but such statements between them."""
    homes: list[tuple[list[ast.stmt], int]] = []
    function = later.place.function
    for each in (earlier, later):
        node: ast.AST = each.place.node
        while not isinstance(node, ast.stmt):
            parent = analysis.enclosing.parent(node, function)
            if parent is None:
                return False
            node = parent
        around = next(iter(analysis.enclosing.around(node, function)), None)
        block = getattr(around.node, around.part, None) if around is not None else getattr(function.node, "body", None)
        if not isinstance(block, list) or node not in block:
            return False
        homes.append((block, block.index(node)))
    (block, first), (other, last) = homes
    return block is other and all(_only_sets(each) for each in block[first + 1 : last])


def _only_sets(statement: ast.stmt) -> bool:
    """Whether a statement computes nothing with tensors: it assigns a constant, or sets something of torch."""
    match statement:
        case ast.Assign(value=ast.Constant()) | ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.ClassDef():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=func)):
            return ast.unparse(func).startswith("torch.")
    return False


def _told(switch: Switch) -> str:
    kinds = " and ".join(sorted(switch.operators))
    return f"TF32 is {'on' if switch.on else 'off'} for {kinds}"
