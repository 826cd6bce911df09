"""A checkpoint to resume from leaves out the float8 state of Transformer Engine's layers.

## What it does
Reports a filter that takes the keys with `_extra_state` out of a model's state, in a function that saves or loads the
optimizer's state as well, of a program whose float8 regions use `DelayedScaling`, or a recipe that is not known.

## Impact
A resumed run starts from float8 scales of 1, and saturates or loses values in its first iterations.

## Why is this bad
Layers of Transformer Engine keep their scales and the history of largest values in `_extra_state`. A run that resumes
without it starts from scales of 1 and an empty history: its first iterations saturate or flush to zero what the run
before it had under control. Weights alone, for inference or another format, need no such state.

## What happens at run time
Silent, because `strict=False` or the filter of the keys keeps `load_state_dict` from telling. Read in Transformer
Engine's source and threads; not run, for want of a device.

## Example
```python
import torch
import transformer_engine.pytorch as te


def forward(model, inputs, recipe):
    with torch.autocast("cuda", dtype=torch.bfloat16), te.fp8_autocast(enabled=True, fp8_recipe=recipe):
        return model(inputs)


def save(model, optimizer, path):
    weights = {name: value for name, value in model.state_dict().items() if "_extra_state" not in name}
    torch.save({"model": weights, "optimizer": optimizer.state_dict()}, path)
```

## Use instead
```python
import torch
import transformer_engine.pytorch as te


def forward(model, inputs, recipe):
    with torch.autocast("cuda", dtype=torch.bfloat16), te.fp8_autocast(enabled=True, fp8_recipe=recipe):
        return model(inputs)


def save(model, optimizer, path):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
```

## Fix safety
No automatic fix: older checkpoints may have to load without the state.

## What it cannot see
States that are filtered in one function and saved in another; a resume that loads the weights alone.

## References
- https://github.com/NVIDIA/TransformerEngine/issues/982
- https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.get_extra_state
"""

import ast
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.model import Severity
from verifygate.static.amp.float8_regions import Float8Regions
from verifygate.static.analysis import Analysis
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk

_KEY = "_extra_state"
RULE = Rule(
    code="AMP816",
    name="float8-state-dropped",
    severity=Severity.MEDIUM,
    summary="a checkpoint to resume from leaves out the scales of Transformer Engine's layers",
    remedy="save and load the model's state whole; filter it for exports alone",
    words=(_KEY,),
    no_proof="Transformer Engine runs on CUDA devices alone",
)
_STATES = frozenset({"state_dict", "load_state_dict"})
_VIEWS = frozenset({"items", "keys", "copy"})
_COPIES = frozenset({"list", "tuple", "sorted", "dict"})


@record(eq=False)
class Filter:
    """A test that keeps keys out of a dict: where it stands, what it goes over, and the names of what is left."""

    test: ast.expr
    source: ast.expr
    left: frozenset[str]
    inside: ast.expr | None = None
    """The comprehension, where it is one."""
    keeps: bool = False
    """Whether such keys are all that is left."""


def check(analysis: Analysis) -> Iterator[Match]:
    """Filters in functions that save or load an optimizer too."""
    regions = analysis.float8_coverage.regions.all if any(_mentioning(analysis)) else []
    recipes = Float8Regions(analysis.evaluator)
    scaled = [each for each in regions if each.is_active and recipes.keeps_history(each.region) is not False]
    for function in _mentioning(analysis) if scaled else ():
        together = analysis.import_graph.together(function.module.path)
        region = next((each for each in scaled if each.function.module.path in together), None)
        if region is None or not _has_optimizer_state(function, analysis):
            continue
        found = list(_filters(function))
        if any(each.keeps for each in found):
            continue  # what one leaves out another keeps apart
        for each in found:
            if _is_of_model(each, function, analysis):
                place = Location(function, each.test)
                yield Match(
                    place,
                    f"`{statement_text(place)}` takes the float8 scales out of a checkpoint to resume from",
                    certain=False,
                    steps=((region.place, "a float8 region that uses them"), (place, "they are left out")),
                )


def _mentioning(analysis: Analysis) -> Iterator[Function]:
    for module in analysis.modules:
        if module.mentions(_KEY.encode()) and not module.file.is_test:
            yield from module.all_functions


def _has_optimizer_state(function: Function, analysis: Analysis) -> bool:
    return any(_is_state_of(call, function, analysis, optimizer=True) for call in function.calls)


def _is_state_of(call: ast.AST, function: Function, analysis: Analysis, *, optimizer: bool) -> bool:
    """Whether a call saves or loads the state of an optimizer, or of something that is none."""
    match call:
        case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in _STATES:
            return analysis.roles.is_optimizer(owner, analysis.evaluator.root_frame(function)) is optimizer
    return False


def _filters(function: Function) -> Iterator[Filter]:
    for node in function.of_kind(ast.DictComp):
        for part in node.generators:
            if tests := [each for each in part.ifs if _tells_key(each)]:
                bound = {
                    name
                    for name, bindings in function.scope.names.items()
                    if any(each.expr is node for each in bindings)
                }
                yield Filter(tests[0], _unwrapped(part.iter), frozenset(bound), node, keeps=not _negates(tests[0]))
    for loop in function.of_kind(ast.For):
        source = _unwrapped(loop.iter)
        for branch in (node for node in walk(loop) if isinstance(node, ast.If) and _tells_key(node.test)):
            if left := _left_by(branch, loop):
                yield Filter(branch.test, source, left)


def _tells_key(test: ast.expr) -> bool:
    """Whether a test asks for the key of such a state, and for nothing else."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _tells_key(inner)
        case ast.Compare(left=ast.Constant(value=str() as word), ops=[ast.In() | ast.NotIn()]):
            return _KEY in word
        case ast.Call(func=ast.Attribute(attr="endswith"), args=[ast.Constant(value=str() as word)]):
            return _KEY in word
    return False


def _negates(test: ast.expr) -> bool:
    """Whether a test holds for other keys."""
    if isinstance(test, ast.UnaryOp):
        return not _negates(test.operand)
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotIn)


def _left_by(branch: ast.If, loop: ast.For) -> frozenset[str]:
    """The names of the dicts out of which a branch keeps or takes an element."""
    taken = [node for statement in branch.body for node in walk(statement)]
    names: set[str] = set()
    for node in taken:
        match node:
            case ast.Delete(targets=[ast.Subscript(value=ast.Name(id=name))]):
                names.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop")):
                names.add(name)
    stored = walk(loop) if any(isinstance(node, ast.Continue) for node in taken) else iter(taken)
    if _negates(branch.test) or any(isinstance(node, ast.Continue) for node in taken):
        names |= {
            node.value.id
            for node in stored
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
        }
    return frozenset(names)


def _unwrapped(source: ast.expr) -> ast.expr:
    """The dict whose items or keys are gone over: `list(state.keys())`."""
    match source:
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _VIEWS:
            return _unwrapped(inner)
        case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _COPIES:
            return _unwrapped(inner)
    return source


def _is_of_model(found: Filter, function: Function, analysis: Analysis) -> bool:
    """Whether a filtered dict is the state that a model gives, and is saved, or one that it is given."""
    used = [call for call in function.calls if _uses(call, found)]
    if any(
        last_name(call.func) == "load_state_dict" and _is_state_of(call, function, analysis, optimizer=False)
        for call in used
    ):
        return True
    sources = [found.source]
    if isinstance(found.source, ast.Name):
        bindings = function.scope.names.get(found.source.id, ())
        sources = [_unwrapped(each.expr) for each in bindings if each.expr is not None]
    given = any(_is_state_of(each, function, analysis, optimizer=False) for each in sources)
    return given and any(last_name(call.func) == "save" for call in used)


def _uses(call: ast.Call, found: Filter) -> bool:
    """Whether what a filter leaves is in an argument of a call."""
    given = [*call.args, *(word.value for word in call.keywords)]
    return any(
        node is found.inside or (isinstance(node, ast.Name) and node.id in found.left)
        for each in given
        for node in walk(each)
    )
