"""A key is read from a dict that the function returning it never puts in.

## What it does
Follows dicts with constant keys from where they are built to where they are read: through returns, variables,
attributes, parameters and files. A key that is read but that no path puts in is reported, with the keys there are.
Several stale reads of one function's dict are one finding, which lists them all.

## Impact
The run stops with a KeyError when it gets there, often after hours of training.

## Why is this bad
It raises KeyError when that line runs. In training code such lines often run late (a summary after hours of training)
or only on a GPU, so the tests miss them.

## What happens at run time
`KeyError: 'train_data'`.

## Example
```python
def set_up(batches):
    return {"train_loader": batches, "epochs": 1}


def train(model, loss_fn, optimizer, scaler, batches, device):
    env = set_up(batches)
    print(f"Training samples: {len(env['train_data'])}")
```

## Use instead
```python
def set_up(batches):
    return {"train_loader": batches, "epochs": 1}


def train(model, loss_fn, optimizer, scaler, batches, device):
    env = set_up(batches)
    print(f"Training samples: {len(env['train_loader'])}")
```

## Fix safety
No fix: the message names the nearest key, but it is unknown which one was meant.

## What it cannot see
Dicts that are passed to code outside the project, to one of several functions that a table or a condition chooses,
get computed keys, or come from files: there it stays silent. So it does of dicts that an object keeps which fills what
it holds, that a closure or a function handed to a library writes, of lists that more is added to, and of what an
abstract method returns.
`d.get(key)`, `key in d` and `except KeyError` count as guards. Only files that mention AMP, and files that they
import or that import them, are looked at; of a large one that does not train, only the definitions that the page on
limits names.

## References
- https://docs.python.org/3/library/exceptions.html#KeyError
"""

import ast
import re
from collections.abc import Iterable

from verifygate.model import Detail, Severity
from verifygate.sources.file import SourceFile
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dict_keys import KeySet
from verifygate.static.idioms.framework_loops import HOOK_WORDS, LOOP_WORDS
from verifygate.static.idioms.key_guards import guarded, nearest
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ClassValue, Frame
from verifygate.static.values.overrides import is_empty

RULE = Rule(
    code="KEY101",
    name="missing-key",
    severity=Severity.CRITICAL,
    summary="a key is read that the function returning the dict never puts in",
    remedy="read a key that is there, or put the missing one in",
    words=("autocast", "GradScaler", "unscale_", *LOOP_WORDS, *HOOK_WORDS, "def on_train_batch_end("),
    proof="raised-error",
)


_EXITS: tuple[type[ast.stmt], ...] = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_DECIDERS = (
    ast.If | ast.IfExp | ast.BoolOp | ast.Match | ast.Try | ast.While | ast.For | ast.AsyncFor | ast.ListComp
    | ast.SetComp | ast.DictComp | ast.GeneratorExp
)  # fmt: skip

_PUTS = rb"%s(?:\[(?P<key>[^\]\n]+)\][ \t]*=(?!=)|\.(?:update|setdefault)\()"
_FILLS = rb"(?<!\bself)(?<!\bcls)\." + _PUTS
_FILLS_IMPORTED = rb"\b" + _PUTS


def check(analysis: Analysis) -> Iterable[Match]:
    """Every read of a constant key that none of the dicts it can be read from holds."""
    for function in analysis.functions:
        frames = analysis.framework_runs.entries(function) or [analysis.evaluator.root_frame(function)]
        for node in function.of_kind(ast.Subscript):
            if not isinstance(node.ctx, ast.Load):
                continue
            if not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)):
                continue
            key = node.slice.value
            if guarded(node, key, function):
                continue
            shapes = _lacking(key, node.value, frames, analysis)
            if shapes and (flags := _flags(node, function, analysis)):
                shapes = [shape for shape in shapes if flags <= shape.keys.keys()]  # of the others it is not read
            found = _match(node, key, shapes, function) if shapes else None
            if shapes is None:
                found = _from_callers(node, key, function, analysis)
            if found is None or _may_mean_another(node, key, function, analysis):
                continue
            if any(_is_overridden(shape, function, analysis) for shape in shapes or ()):
                continue
            if any(_is_filled_by_others(shape, key, node, function, analysis) for shape in shapes or ()):
                reason = f"whether '{key}' is put in by another file, which fills an attribute of that name"
                analysis.gave_up(found.place, reason, RULE.code)
                continue
            yield found


def _lacking(key: str, held: ast.expr, frames: list[Frame], analysis: Analysis) -> list[KeySet] | None:
    """The shapes of a dict if none has the key, in whichever way its function is entered; None if some are unknown."""
    found: list[KeySet] = []
    for frame in frames:
        shapes = analysis.dict_keys.lacking(key, held, frame)
        if not shapes:
            return shapes
        found += shapes
    return found


def _flags(node: ast.Subscript, function: Function, analysis: Analysis) -> set[str]:
    """The keys that conditions around a read ask the same dict for: `if info.get("remote"): info["address"]`."""
    asked: set[str] = set()
    read = ast.unparse(node.value)
    tests = [test for test, holds in analysis.enclosing.conditions(node, function) if holds]
    while tests:
        match tests.pop():
            case ast.BoolOp(op=ast.And(), values=parts):
                tests += parts
            case ast.Call(func=ast.Attribute(attr="get", value=held), args=[ast.Constant(value=str() as flag), *rest]):
                given = rest[0] if rest else None
                if ast.unparse(held) == read and (given is None or _is_false(given)):
                    asked.add(flag)
            case ast.Compare(left=ast.Constant(value=str() as flag), ops=[ast.In()], comparators=[held]):
                if ast.unparse(held) == read:
                    asked.add(flag)
    return asked


def _is_false(given: ast.expr) -> bool:
    return isinstance(given, ast.Constant) and not given.value


def _from_callers(node: ast.Subscript, key: str, function: Function, analysis: Analysis) -> Match | None:
    """A read of a parameter, which fails for one of the dicts that callers pass: once, and only if it always runs.

    A call that may run several functions (`models[name].loss(batch)`) says of none that it gets this dict.
    """
    if _root_name(node) not in {parameter.arg for parameter in function.parameters}:
        return None
    if not _always_runs(node, function, analysis):
        return None
    for site, frame in analysis.call_graph.entries(function):
        if len(analysis.call_graph.callees(site.call, site.caller)) > 1:
            continue
        if shapes := analysis.dict_keys.lacking(key, node.value, frame):
            return _match(node, key, shapes, function, Location(site.caller, site.call))
    return None


def _root_name(node: ast.expr) -> str:
    """`self` of `self.load()["x"].env`."""
    while isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _always_runs(node: ast.Subscript, function: Function, analysis: Analysis) -> bool:
    """Whether nothing in the function decides if the node runs: no branch around it, no way out before it."""
    if any(each.lineno < node.lineno for kind in _EXITS for each in function.of_kind(kind)):
        return False
    return not any(isinstance(each.node, _DECIDERS) for each in analysis.enclosing.around(node, function))


def _may_mean_another(node: ast.Subscript, key: str, function: Function, analysis: Analysis) -> bool:
    """Whether a derived class gives `self.name` another meaning, or unknown code writes the key into such a name."""
    if analysis.dict_keys.written_elsewhere(node.value, key, function):
        return True
    owner = function.owner
    if owner is None or not function.parameters or _root_name(node) != function.parameters[0].arg:
        return False
    names = {each.attr for each in walk(node.value) if isinstance(each, ast.Attribute)}
    return any(
        made is not owner and names & (made.methods.keys() | made.attributes.keys())
        for module in analysis.modules
        for made in module.classes.values()
        if owner in analysis.evaluator.linearised(made)
    )


def _is_overridden(shape: KeySet, function: Function, analysis: Analysis) -> bool:
    """Whether a dict is made by a method in whose place the class that reads it has one of its own, or another may."""
    made_by, reader = shape.made_at.function, function.owner
    if made_by.owner is None or made_by.owner is reader:
        return False
    if _is_one_of_many(made_by, analysis):
        return True
    if reader is None:
        return False
    return any(
        made is not made_by.owner and made_by.name in made.methods
        for made in analysis.evaluator.linearised(reader)
        if made_by.owner in analysis.evaluator.linearised(made)
    )


def _is_one_of_many(method: Function, analysis: Analysis) -> bool:
    """Whether it fills in what a class above leaves empty, and another file may do so too, if by its name only."""
    above = analysis.evaluator.linearised(method.owner)[1:] if method.owner is not None else ()
    if not any(is_empty(made.methods[method.name]) for made in above if method.name in made.methods):
        return False
    known = {method.module.path, *(made.module.path for made in above)}
    text = f"def {method.name}(".encode()
    return any(text in file.data for file in analysis.program.sources if file.path not in known)


def _is_filled_by_others(shape: KeySet, key: str, read: ast.Subscript, reader: Function, analysis: Analysis) -> bool:
    """Whether any file puts the key, or a computed one, into such an attribute of another, or into an imported dict.

    `engine.state.metrics[name] = value`: told by the text, since what fills it may have nothing to do with AMP. To an
    object that the reader makes itself, only files come that run with it.
    """
    function, dict_made = shape.made_at.function, shape.made_at.node
    bound = [(target, node.value) for node in function.of_kind(ast.Assign) for target in node.targets]
    bound += [(node.target, node.value) for node in function.of_kind(ast.AnnAssign) if node.value is not None]
    targets = [target for target, value in bound if value is dict_made]
    fills = [(_FILLS, target.attr) for target in targets if isinstance(target, ast.Attribute)]
    if not function.symbol:
        fills += [(_FILLS_IMPORTED, target.id) for target in targets if isinstance(target, ast.Name)]
    home = function.module.path
    stem = home.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2].encode()
    files: Iterable[SourceFile] = analysis.program.sources
    if _is_made_by(reader, _root_name(read), analysis):
        files = analysis.program.sources.each(analysis.import_graph.with_loaded(home))
    return any(
        not found["key"] or found["key"][:1] not in b"'\"" or found["key"][1:-1] == key.encode()
        for pattern, name in fills
        for file in files
        if name.encode() in file.data and (pattern is _FILLS or (file.path != home and stem in file.data))
        for found in re.finditer(pattern % name.encode(), file.data)
        if file.is_code(found.start())
    )


def _is_made_by(function: Function, name: str, analysis: Analysis) -> bool:
    """Whether a name is a function's own, of an object that it makes there: `plan = Plan(batches)`."""
    frame, bound = analysis.evaluator.root_frame(function), function.scope.names.get(name, ())
    return bool(bound) and all(
        each.kind == "value"
        and isinstance(each.expr, ast.Call)
        and all(isinstance(value, ClassValue) for value in analysis.evaluator.values(each.expr.func, frame))
        for each in bound
    )


def _match(
    node: ast.Subscript, key: str, shapes: list[KeySet], function: Function, handed_over: Location | None = None
) -> Match:
    keys = sorted({each for shape in shapes for each in shape.keys})
    made = [
        (shape.made_at, f"the dict is built here, with the keys {', '.join(sorted(shape.keys))}") for shape in shapes
    ]
    if handed_over is not None:
        made.append((handed_over, "it is handed over here"))
    where = shapes[0].made_at.function.symbol or "the module"
    return Match(
        Location(function, node),
        f"`{ast.unparse(node)}` raises KeyError: the dict from `{where}` has no key '{key}'",
        steps=(*made, (Location(function, node), f"'{key}' is read here")),
        details=(Detail(label="expected keys", values=tuple(keys)), Detail(label="missing key", values=(key,))),
        remedy=nearest(key, keys),
        cause=tuple(sorted({(shape.made_at.path, shape.made_at.line, shape.made_at.column) for shape in shapes})),
    )
