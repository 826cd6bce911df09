"""A key is read from a loaded checkpoint that the project's own save never writes.

## What it does
Each `torch.load` is matched with the project's `torch.save` calls, also those in a function that the dict is passed
to:

- by the file name, if both write it out;
- with all saves of the same program, if the path comes from outside and is named a checkpoint to resume from, or is
  read only if a setting says to resume;
- with the saves of the object whose method resumes.

Reported is a constant key that is read and that none of the matched saves contains. So is a key that only some of them
contain, if another save, of which most of the other keys are read, also keeps an optimizer's state for resuming: only a
run shows which of the two the path leads to.

Also a key that the `load_state_dict` of a class reads while its own `state_dict` is known not to return it
(`__setstate__` and `__getstate__` likewise): likely, because the state may come from another version.

## Impact
The first resume stops with a KeyError, when the run that should go on is gone.

## Why is this bad
Saving works for months; the first resume raises KeyError, when the run that should be resumed is gone.

## What happens at run time
`KeyError: 'scaler_state'` when the checkpoint is loaded.

## Example
```python
import tempfile

import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    with tempfile.TemporaryDirectory() as folder:
        torch.save({"model": model.state_dict(), "scaler": scaler.state_dict()}, f"{folder}/last.pt")
        state = torch.load(f"{folder}/last.pt")
        model.load_state_dict(state["model"])
        scaler.load_state_dict(state["scaler_state"])
```

## Use instead
```python
import tempfile

import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    with tempfile.TemporaryDirectory() as folder:
        torch.save({"model": model.state_dict(), "scaler": scaler.state_dict()}, f"{folder}/last.pt")
        state = torch.load(f"{folder}/last.pt")
        model.load_state_dict(state["model"])
        scaler.load_state_dict(state["scaler"])
```

## Fix safety
No fix: checkpoints that exist already hold the old keys.

## What it cannot see
Checkpoints of other projects: a path that is not tied to a save is never reported, nor one whose tied save writes
something that is not a dict written out. `.get`, `in` and `except KeyError` count as guards.

## References
- https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
"""

import ast
import re
from collections.abc import Iterable, Iterator

from verifygate.base.records import record
from verifygate.model import Detail, Severity
from verifygate.naming import speaks_of_a_scaler, speaks_of_an_optimizer
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dict_keys import KeySet
from verifygate.static.idioms.key_guards import guarded, lacks_written_key, nearest
from verifygate.static.rule import Match, Rule
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.syntax.traversal import children
from verifygate.static.values.domain import ExternalResult, Frame

RULE = Rule(
    code="KEY102",
    name="checkpoint-key-mismatch",
    severity=Severity.HIGH,
    summary="a key is read from a loaded checkpoint that the project's own save never writes",
    remedy="read a key that the save writes, or write the missing one",
    words=("torch.load", "torch.save"),
    proof="raised-error",
)

_FILE_NAME = r"[\w.-]*\w\.(pt|pth|ckpt|tar|pkl|bin)$"
_OWN = r"(?i)resume|latest|last"
_RESUMES = r"(?i)resume|restore|load_(?:check|ckpt|state)"
_PAIRS = {"load_state_dict": "state_dict", "__setstate__": "__getstate__"}
"""What takes a state back -> what hands it out."""
_PREPARES = r"(?i)set_?up"
_MAX_STEPS = 40


@record(eq=False, slots=False)
class _Save:
    call: ast.Call
    function: Function
    names: frozenset[str]
    shapes: tuple[KeySet, ...] | None
    """None where what is saved is not a dict whose keys are known."""
    bare: bool
    """What is saved is a `state_dict()` by itself: its keys are parameters."""


def check(analysis: Analysis) -> Iterable[Match]:
    """Constant keys read from what `torch.load` gives, against the saves that the load is tied to."""
    yield from _paired(analysis)
    saves = list(_saves(analysis))
    if not any(save.shapes for save in saves):
        return
    for function in analysis.functions:
        frame = analysis.evaluator.root_frame(function)
        reads: dict[ast.Call, list[ast.Subscript]] = {}
        homes: dict[ast.Call, Frame] = {}
        for node in function.of_kind(ast.Subscript):
            if found := _loaded(analysis, node, function, frame):
                call, home = found
                reads.setdefault(call, []).append(node)
                homes[call] = home
        files = analysis.import_graph.together(function.module.path) if reads else ()
        together = {_key(node) for nodes in reads.values() for node in nodes}
        for call, nodes in reads.items():
            near = [save for save in saves if save.function.module.path in files]
            near = [save for save in near if _run_together(save.function, function, analysis)]
            yield from _compare(analysis, call, homes[call], nodes, function, near, together)


def _paired(analysis: Analysis) -> Iterator[Match]:
    """Keys that a class reads where it takes a state back, and never gives where it hands one out."""
    for function in analysis.functions:
        gives = function.owner.methods.get(_PAIRS.get(function.name, "")) if function.owner is not None else None
        given = function.parameters[1].arg if len(function.parameters) > 1 else ""
        if gives is None or len(function.scope.names.get(given, ())) != 1:
            continue
        frame = analysis.evaluator.root_frame(gives)
        shapes = [analysis.dict_keys.of(each, frame) for each in gives.returns]
        keys = {key for each in shapes for shape in each or () for key in shape.keys}
        reads = [node for node in function.of_kind(ast.Subscript) if ast.unparse(node.value) == given and _key(node)]
        stored = {_key(node) for node in reads if not _is_load(node)}
        for node in reads if keys and None not in shapes else ():
            key = _key(node)
            if key not in keys | stored and not guarded(node, key, function):
                if lacks_written_key(node, given, keys, function, analysis.enclosing):
                    continue  # a checkpoint of an earlier version
                yield Match(
                    Location(function, node),
                    f"`{ast.unparse(node)}` raises KeyError: `{gives.name}` of this class gives no key '{key}'",
                    certain=False,
                    steps=((Location(gives, gives.returns[0]), "the state is handed out here"),),
                    details=(
                        Detail(label="expected keys", values=tuple(sorted(keys))),
                        Detail(label="missing key", values=(key,)),
                    ),
                    remedy=nearest(key, keys),
                )


def _compare(
    analysis: Analysis,
    call: ast.Call,
    home: Frame,
    nodes: list[ast.Subscript],
    function: Function,
    saves: list[_Save],
    together: set[str],
) -> Iterator[Match]:
    """What is missing of the keys that are read from one load; `together`: what the function reads from all of its."""
    tied, certain = _tied(analysis, call, home, saves)
    if not tied and function.owner is not None and re.search(_RESUMES, function.name):
        tied = [save for save in saves if save.function.owner is function.owner]  # what one object saves and loads
    by_optimizer = not tied and any(speaks_of_an_optimizer(_key(node)) for node in nodes)
    if by_optimizer:
        ours = [save for save in saves if save.function.module is function.module]
        tied = [
            save
            for save in ours
            if any(speaks_of_an_optimizer(key) for shape in save.shapes or () for key in shape.keys)
        ]
    if unknown := [save for save in tied if not save.shapes]:
        if any(speaks_of_a_scaler(_key(node)) for node in nodes):
            save = unknown[0]
            where = f"{save.function.module.path}:{save.call.lineno}"
            reason = f"the keys that are saved at {where} cannot be told: those read here are not compared with them"
            analysis.gave_up(Location(function, nodes[0]), reason, RULE.code)
        return
    if not tied:
        return
    shapes = [shape for save in tied for shape in save.shapes or ()]
    keys = {key for shape in shapes for key in shape.keys}
    read = {_key(node) for node in nodes}
    likeness = together if _is_resumed(analysis, call, home) else read
    if not certain and 2 * len(likeness & keys) < len(likeness) and not keys <= likeness:
        return  # little of what it reads is ours: it may be anybody's checkpoint
    stored = {_key(node) for node in function.of_kind(ast.Subscript) if not _is_load(node)}
    for node in nodes:
        key = _key(node)
        if key in stored or not _is_load(node) or guarded(node, key, function):
            continue
        if key in keys:
            others = [save for save in tied if not _goes_its_own_way(save, key, function, tied)]
            if by_optimizer:
                like = {each for shape in shapes if key in shape.keys for each in shape.keys}
                others = [save for save in others if all(shape.keys.keys() <= like for shape in save.shapes or ())]
            if lacking := next((save for save in others if _resumes_without(save, key, read)), None):
                yield _sometimes_missing(node, key, function, lacking)
            continue
        yield Match(
            Location(function, node),
            f"`{ast.unparse(node)}` raises KeyError: the project's checkpoints have no key '{key}'",
            certain=certain,
            steps=tuple((Location(save.function, save.call), "the checkpoint is saved here") for save in tied),
            details=(
                Detail(label="expected keys", values=tuple(sorted(keys))),
                Detail(label="missing key", values=(key,)),
            ),
            remedy=nearest(key, keys),
        )


def _run_together(saves: Function, loads: Function, analysis: Analysis) -> bool:
    """Whether one program runs both: a test is one by itself, with files of its own.

    The tests of one class may share files that its set-up writes.
    """
    if not (saves.module.file.is_test or loads.module.file.is_test):
        return True
    above = analysis.call_graph.above(saves) & analysis.call_graph.above(loads)
    if any(function.symbol for function in above):
        return True
    if not saves.symbol or not loads.symbol:
        return saves.module is loads.module  # the file itself runs before its tests
    prepares = any(re.match(_PREPARES, each.name) for each in analysis.call_graph.above(saves))
    return prepares and saves.owner is not None and saves.owner is loads.owner


def _goes_its_own_way(save: _Save, key: str, function: Function, tied: list[_Save]) -> bool:
    """Whether a save in another file is another script's, as the function that loads writes such files itself."""
    own = (each for each in tied if each.function is function)
    return save.function.module is not function.module and any(
        key in shape.keys for each in own for shape in each.shapes or ()
    )


def _resumes_without(save: _Save, key: str, read: set[str]) -> bool:
    """Whether a run could be meant to resume from this save, by all that is read but for this key.

    Where much else is missing as well, it is a checkpoint for something else, of a fine-tuned model say.
    """
    rest = read - {key}
    return any(
        key not in shape.keys
        and len(rest & shape.keys.keys()) > 1
        and 2 * len(rest & shape.keys.keys()) >= len(rest)
        and 4 * len(rest - shape.keys.keys()) <= len(rest)
        and any(map(speaks_of_an_optimizer, shape.keys))
        for shape in save.shapes or ()
    )


def _sometimes_missing(node: ast.Subscript, key: str, function: Function, save: _Save) -> Match:
    kept = sorted({each for shape in save.shapes or () for each in shape.keys})
    place = Location(save.function, save.call)
    where = f"line {place.line}" if save.function.module is function.module else f"{place.path}:{place.line}"
    return Match(
        Location(function, node),
        f"`{ast.unparse(node)}` raises KeyError on the checkpoint of {where}: it has no key '{key}'",
        certain=False,
        steps=((place, "this checkpoint has an optimizer's state, and no such key"),),
        details=(
            Detail(label="expected keys", values=tuple(kept)),
            Detail(label="missing key", values=(key,)),
        ),
        remedy=f"write '{key}' into every checkpoint that a run can resume from",
    )


def _tied(analysis: Analysis, call: ast.Call, home: Frame, saves: list[_Save]) -> tuple[list[_Save], bool]:
    """The saves whose file a load reads; surely, where both write the same file name out."""
    path = _path(call, 0)
    names = _file_names(analysis, path, home) if path is not None else frozenset()
    if names:
        return [save for save in saves if save.names & names], True
    if path is None:
        return [], False
    if not re.search(_OWN, _written_out(analysis, path, home)) and not _is_resumed(analysis, call, home):
        return [], False
    if any(save.shapes is None and not save.bare for save in saves):
        return [], False
    return [save for save in saves if save.shapes], False


def _is_resumed(analysis: Analysis, call: ast.Call, home: Frame) -> bool:
    """Whether the load runs only where a setting says that a run is resumed: of several files, all are its own."""
    conditions = analysis.enclosing.conditions(call, home.function)
    return any(holds and re.search(r"(?i)^(?!not ).*resume", ast.unparse(test)) for test, holds in conditions)


def _written_out(analysis: Analysis, path: ast.expr, home: Frame) -> str:
    """The text of a path, and of what a name in it was given once."""
    text = ast.unparse(path)
    if isinstance(path, ast.Name) and (bound := analysis.evaluator.lookup(path.id, home)):
        bindings, _ = bound
        if len(bindings) == 1 and bindings[0].kind == "value" and bindings[0].expr is not None:
            return f"{text} {ast.unparse(bindings[0].expr)}"
    return text


def _saves(analysis: Analysis) -> Iterator[_Save]:
    """Every save; one of what its function is handed counts where that function is called."""
    for call, function in analysis.calls:
        frame = analysis.evaluator.root_frame(function)
        if getattr(call.func, "attr", getattr(call.func, "id", "")) != "save" or not call.args:
            continue
        if analysis.roles.known_name(call.func, frame) != "torch.save":
            continue
        handed = list(_handed(analysis, call, function))
        if handed:
            yield from (_save(analysis, *each, path=each[0]) for each in handed)
        else:
            yield _save(analysis, call, function, call.args[0], path=_path(call, 1))


def _save(analysis: Analysis, call: ast.Call, function: Function, given: ast.expr, *, path: ast.expr | None) -> _Save:
    frame = analysis.evaluator.root_frame(function)
    names = _file_names(analysis, path, frame) if path is not None else frozenset()
    shapes = _shapes(analysis, given, function, frame)
    return _Save(call, function, names, tuple(shapes) if shapes else None, "state_dict()" in ast.unparse(given))


def _handed(analysis: Analysis, call: ast.Call, function: Function) -> Iterator[tuple[ast.Call, Function, ast.expr]]:
    """The calls of a function that saves what it is handed, and what they hand it."""
    given = call.args[0]
    bindings = function.scope.names.get(given.id, []) if isinstance(given, ast.Name) else []
    if [binding.kind for binding in bindings] != ["parameter"]:
        return
    for site, bound in analysis.call_graph.given(given.id, function):  # type: ignore[attr-defined]
        yield site.call, site.caller, bound.expr


def _shapes(analysis: Analysis, given: ast.expr, function: Function, frame: Frame) -> list[KeySet] | None:
    """The shapes of what a save is given, by the assignments that reach it."""
    found: list[KeySet] = []
    for expr in _reaching(given, given, function):
        shapes = analysis.dict_keys.of(expr, frame)
        if shapes is None:
            return None
        found += shapes
    return found or None


def _reaching(expr: ast.expr, at: ast.AST, function: Function) -> list[ast.expr]:
    """What a local name can be where it is used; anything else stands for itself."""
    bindings = reaching(expr.id, at, function) if isinstance(expr, ast.Name) else None
    values = [binding.expr for binding in bindings or () if binding.kind == "value" and binding.expr is not None]
    return values if bindings and len(values) == len(bindings) else [expr]


def _loaded(analysis: Analysis, node: ast.Subscript, function: Function, frame: Frame) -> tuple[ast.Call, Frame] | None:
    """The one `torch.load` whose result a constant key is read from."""
    if not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)):
        return None
    values = {
        value for expr in _reaching(node.value, node, function) for value in analysis.evaluator.values(expr, frame)
    }
    only = next(iter(values)) if len(values) == 1 else None
    return only.calls[-1] if isinstance(only, ExternalResult) and only.name == "torch.load" and only.calls else None


def _path(call: ast.Call, position: int) -> ast.expr | None:
    if len(call.args) > position:
        return call.args[position]
    return next((word.value for word in call.keywords if word.arg == "f"), None)


def _file_names(analysis: Analysis, path: ast.expr, frame: Frame) -> frozenset[str]:
    """File names of checkpoints that occur in a path, following names that are bound once."""
    found: set[str] = set()
    queue: list[tuple[ast.AST, Frame]] = [(path, frame)]
    steps = 0
    while queue and steps < _MAX_STEPS:
        node, home = queue.pop()
        steps += 1
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            match = re.search(_FILE_NAME, node.value)
            if match:
                found.add(match[0])
        elif isinstance(node, ast.Name) and (bound := analysis.evaluator.lookup(node.id, home)):
            bindings, place = bound
            if len(bindings) == 1 and bindings[0].kind == "value" and bindings[0].expr is not None:
                queue.append((bindings[0].expr, place))
            elif len(bindings) == 1 and (passed := place.arguments.get(node.id)):
                queue.append((passed.expr, passed.frame))
        elif not isinstance(node, ast.Attribute):
            queue += [(child, home) for child in children(node)]
    return frozenset(found)


def _is_load(node: ast.Subscript) -> bool:
    return isinstance(node.ctx, ast.Load)


def _key(node: ast.Subscript) -> str:
    return node.slice.value if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str) else ""
