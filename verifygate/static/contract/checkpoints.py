"""What checkpoints hold: those of frameworks, and the dicts that the project saves itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.model.precision_contract import DERIVED, Aspect
from verifygate.static.analysis import Analysis
from verifygate.static.contract.byte_facts import ByteFacts
from verifygate.static.contract.conditions import condition_at
from verifygate.static.contract.fact import Fact
from verifygate.static.contract.training import TrainingReach
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk

NO_SCALER = "no scaler's state"
_BY_ITSELF = {
    "Lightning Trainer": "Lightning's: model, optimizer, scaler's state if it scales",
    "Hugging Face Trainer": "the Trainer's: model, optimizer, scaler's state if it scales",
}
"""Frameworks that write checkpoints by themselves."""
_WHEN_ASKED = {
    "save_state": ("Accelerate", "Accelerate's: model, optimizer, scaler's state if it scales"),
    "save_checkpoint": ("DeepSpeed engine", "DeepSpeed's: model, optimizer, scaler's state if it scales"),
}
_PARTS = (("optimizer", ("optim",)), ("scaler's state", ("scaler",)), ("model", ("model", "net", "module", "ema")))
_SAVES = frozenset({"save", "async_save"})


def checkpoint_facts(facts: list[Fact], analysis: Analysis, scanned: ByteFacts, reach: TrainingReach) -> Iterator[Fact]:
    """What says of a training what its checkpoints hold."""
    yield from _of_frameworks(facts, analysis, scanned)
    for module in analysis.modules:
        if module.file.is_test or not module.mentions(b"state_dict", b"fabric.save(") or not module.mentions(b"save("):
            continue
        for function in module.all_functions:
            for call in function.calls:
                if last_name(call.func) in _SAVES and call.args:
                    yield from _own(call, function, analysis, reach)


def _of_frameworks(facts: list[Fact], analysis: Analysis, scanned: ByteFacts) -> Iterator[Fact]:
    drivers = [each for each in facts if each.aspect is Aspect.DRIVER and each.said_by == "code"]
    for driver in drivers:
        files = analysis.import_graph.together(driver.path)
        words = [(path, said) for path in files if (said := scanned.words.get(path)) is not None]
        held = _BY_ITSELF.get(driver.value)
        if held and not any(each.leaves_out for _, each in words):
            note = "what the framework's checkpoints hold by default"
            yield Fact(
                aspect=Aspect.CHECKPOINT, value=held, path=driver.path, line=driver.line, note=note, said_by=DERIVED
            )  # fmt: skip
        for path, each in words:
            who, held = _WHEN_ASKED.get(each.saves_by, ("", ""))
            if who and who == driver.value:
                note = f"`{each.saves_by}`"
                yield Fact(aspect=Aspect.CHECKPOINT, value=held, path=path, line=each.saves_state, note=note)


def _own(call: ast.Call, function: Function, analysis: Analysis, reach: TrainingReach) -> Iterator[Fact]:
    """The parts of a dict that is saved, where all of it is written out and the optimizer is among them."""
    for given in call.args[:2]:
        parts = _parts(given, function)
        if "optimizer" in parts and reach.is_of_program(function):
            names = [name for name, _ in reversed(_PARTS) if name in parts]
            value = ", ".join(names if "scaler's state" in names else [*names, NO_SCALER])
            place = Location(function, call)
            yield Fact(
                aspect=Aspect.CHECKPOINT, value=value, path=place.path, line=place.line,
                note="the keys of what is saved", condition=condition_at(place, analysis),
            )  # fmt: skip
            return


def _parts(given: ast.expr, function: Function) -> set[str]:
    """What the values of a dict are the states of; nothing where a part of it is written elsewhere."""
    if isinstance(given, ast.Dict | ast.Call):
        return _named(given) or set()
    if not isinstance(given, ast.Name):
        return set()
    bound = [each.expr for each in function.scope.names.get(given.id, ())]
    if len(bound) != 1 or bound[0] is None:
        return set()
    found = _named(bound[0])
    if found is None:
        return set()
    for call in function.calls:  # given away before it is saved, or added to
        is_changed = isinstance(call.func, ast.Attribute) and _is(call.func.value, given.id)
        if is_changed or (last_name(call.func) not in _SAVES and any(_is(each, given.id) for each in call.args)):
            return set()
    for node in function.of_kind(ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and _is(target.value, given.id):
                if not isinstance(target.slice, ast.Constant):
                    return set()
                found |= _of_value(str(target.slice.value), node.value)
    return found


def _is(expr: ast.expr, name: str) -> bool:
    return isinstance(expr, ast.Name) and expr.id == name


def _named(node: ast.expr) -> set[str] | None:
    """The parts in `{...}` and in `dict(...)`; None for anything else, and where another dict is unpacked into it."""
    items: list[tuple[str | None, ast.expr]] = []
    if isinstance(node, ast.Dict):
        items = [
            (ast.unparse(key) if key is not None else None, value)
            for key, value in zip(node.keys, node.values, strict=True)
        ]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict" and not node.args:
        items = [(word.arg, word.value) for word in node.keywords]
    if not items or any(key is None for key, _ in items):
        return None
    return set[str]().union(*(_of_value(key or "", value) for key, value in items))


def _of_value(key: str, value: ast.expr) -> set[str]:
    """What an item is the state of, by the objects whose `state_dict()` it takes, else by its key."""
    states = [each for each in walk(value) if isinstance(each, ast.Call) and last_name(each.func) == "state_dict"]
    if not states and not isinstance(value, ast.Name):
        return set()
    texts = [ast.unparse(each.func) for each in states] or [ast.unparse(value)]
    return {part for text in texts if (part := _part(text) or _part(key))}


def _part(text: str) -> str:
    return next((name for name, words in _PARTS if any(word in text.lower() for word in words)), "")
