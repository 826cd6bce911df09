"""AMP302: keep the scaler's state beside the optimizer's, and load it where the optimizer's is loaded.

Saving and loading are fixed together or not at all. What is loaded is asked for first: older checkpoints lack the key,
and the state of a scaler that was off is empty, which one that is on refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

import libcst as cst

from verifygate.fix.concrete_tree import Edits, Tree, dotted, method_call
from verifygate.fix.draft import CannotFixError, Draft, Project
from verifygate.fix.entries import entry_after
from verifygate.fix.scaler_calls import calls_of
from verifygate.fix.scaler_names import scaler_at
from verifygate.model import Applicability, Certainty, Finding
from verifygate.sources.tree import Sources

TOGETHER = True

_Lines = list[tuple[int, int]]

_LOADS = re.compile(rb"opt\w*(?:\(\)|\[\w+\])?\.load_state_dict\(", re.IGNORECASE)
_KEPT = re.compile(rb"""["'](\w+)["']\s*\]?\s*(?::|=(?!=))\s*[\w.]*scaler[\w.]*\.state_dict\(\)""", re.IGNORECASE)
_OPTIMIZER = re.compile(r"optimi[sz]ers?|optims?|opts?", re.IGNORECASE)


def draft(tree: Tree, findings: Sequence[Finding], project: Project) -> Draft:
    """Build the fix. Raises CannotFixError where no scaler is at hand, or the checkpoint is not plain to see."""
    calls = [tree.call(finding) for finding in findings]
    saves = [call for call in calls if _method(call) == "state_dict"]
    loads = [call for call in calls if _method(call) == "load_state_dict"]
    if len(saves) + len(loads) < len(calls):
        raise CannotFixError("the states of the optimizers are collected in another place")
    edits, lines = Edits(), list[tuple[int, int]]()
    keys = _keep(tree, saves, edits, lines)
    restoring = _restoring(tree, saves, loads)
    if saves and (elsewhere := _loads_elsewhere(tree, project.sources)):
        raise CannotFixError(f"`{elsewhere}` loads optimizers too: saving and loading have to be changed together")
    key = _one_key(keys if saves else _kept(project.sources))
    for call, base in _last_of_each(tree, restoring):
        _restore(tree, call, base, key, edits, lines)
    certain = bool(restoring) and all(finding.certainty is Certainty.CERTAIN for finding in findings)
    return tree.draft(edits, findings, lines, Applicability.SAFE if certain else Applicability.UNSAFE)


def _method(call: cst.CSTNode) -> str:
    parts = method_call(call)
    return parts[1] if parts is not None else ""


def _receiver(tree: Tree, call: cst.CSTNode) -> str:
    parts = method_call(call)
    return tree.text(parts[0]) if parts is not None else ""


# -- saving ----------------------------------------------------------------------------------------------------


def _keep(tree: Tree, saves: Sequence[cst.Call], edits: Edits, lines: _Lines) -> set[str]:
    """Put the scaler's state into every checkpoint that holds these optimizers. Returns the keys it gets."""
    names = {_receiver(tree, call) for call in saves}
    every = [call for call in calls_of(tree, tree.module, "state_dict") if _receiver(tree, call) in names]
    done: set[cst.CSTNode] = set()
    keys: set[str] = set()
    for call in reversed(every):
        home, at = _entry(tree, call)
        if home is None:
            if call in saves:
                raise CannotFixError("the state is not stored in a dict literal")
            continue
        if home in done:
            continue
        done.add(home)
        keys.add(_add(tree, call, home, at, edits))
        lines.append(tree.lines(call))
    return keys


def _entry(tree: Tree, call: cst.Call) -> tuple[cst.CSTNode | None, int]:
    """The dict, the call of `dict` or the assignment to a key that keeps a state, and which entry of it does."""
    entry = tree.parent(call)
    home = tree.parent(entry) if entry is not None else None
    if isinstance(entry, cst.DictElement) and isinstance(home, cst.Dict):
        return home, list(home.elements).index(entry)
    if isinstance(entry, cst.Arg) and isinstance(home, cst.Call) and tree.text(home.func) == "dict":
        return (home, list(home.args).index(entry)) if entry.keyword is not None else (None, 0)
    if isinstance(entry, cst.Assign) and len(entry.targets) == 1 and _key(entry.targets[0].target) is not None:
        return entry, 0
    return None, 0


def _add(tree: Tree, call: cst.Call, home: cst.CSTNode, at: int, edits: Edits) -> str:
    """One more entry, with a key after the manner of the optimizer's."""
    value = cst.parse_expression(f"{scaler_at(tree, call)}.state_dict()")
    if isinstance(home, cst.Dict):
        entry = home.elements[at]
        assert isinstance(entry, cst.DictElement)  # noqa: S101 - that is how it was found
        pairs = [each for each in home.elements if isinstance(each, cst.DictElement)]
        several = sum(_is_state(tree, each.value, each.key) for each in pairs) > 1
        key = _string(entry.key, several=several)
        edits.changes[home] = entry_after(at, cst.DictElement(key, value))
        return str(key.evaluated_value)
    if isinstance(home, cst.Call):
        keyword = home.args[at].keyword
        assert keyword is not None  # noqa: S101 - that is how it was found
        several = sum(_is_state(tree, each.value, each.keyword) for each in home.args) > 1
        name = "scaler" if several else _renamed(keyword.value)
        new = cst.Arg(value, keyword=cst.Name(name), equal=home.args[at].equal)
        edits.changes[home] = entry_after(at, new)
        return name
    assert isinstance(home, cst.Assign)  # noqa: S101 - `_entry` gives nothing else
    target = home.targets[0].target
    assert isinstance(target, cst.Subscript)  # noqa: S101
    key = _string(_key(target), several=False)
    statement = tree.statement(home)
    text = f"{tree.text(target.value)}[{key.value}] = {tree.text(value)}"
    edits.after.setdefault(statement, []).append(tree.new_statement(text))
    return str(key.evaluated_value)


def _is_state(tree: Tree, value: cst.BaseExpression, key: cst.CSTNode | None) -> bool:
    """Whether an entry holds the state of an optimizer, by the name of the one or the other."""
    said = f"{_receiver(tree, value)} {tree.text(key) if key is not None else ''}"
    return isinstance(value, cst.Call) and _method(value) == "state_dict" and bool(_OPTIMIZER.search(said))


def _key(node: cst.CSTNode) -> cst.SimpleString | None:
    """The constant text that a subscript asks for."""
    if not isinstance(node, cst.Subscript) or len(node.slice) != 1:
        return None
    index = node.slice[0].slice
    value = index.value if isinstance(index, cst.Index) else None
    return value if isinstance(value, cst.SimpleString) else None


def _string(key: cst.CSTNode | None, *, several: bool) -> cst.SimpleString:
    if not isinstance(key, cst.SimpleString) or key.prefix or not isinstance(key.evaluated_value, str):
        raise CannotFixError("the key of the optimizer's state is not a string literal")
    name = "scaler" if several else _renamed(key.evaluated_value)
    return cst.SimpleString(f"{key.quote}{name}{key.quote}")


def _renamed(key: str) -> str:
    """`optimizer_state_dict` -> `scaler_state_dict`; a key that does not say optimizer -> `scaler`."""
    found = _OPTIMIZER.search(key)
    if found is None:
        return "scaler"
    word = found[0]
    new = "SCALER" if word.isupper() else "Scaler" if word[0].isupper() else "scaler"
    return key[: found.start()] + new + key[found.end() :]


# -- loading ---------------------------------------------------------------------------------------------------


def _restoring(tree: Tree, saves: Sequence[cst.Call], loads: Sequence[cst.Call]) -> list[tuple[cst.Call, str]]:
    """Every load of these optimizers or of their keys, each with the variable that holds the checkpoint."""
    names = {_receiver(tree, call) for call in (*saves, *loads)}
    kept = {_saved_key(tree, call) for call in saves}
    kept |= {str(key.evaluated_value) for call in loads for each in call.args if (key := _key(each.value))}
    found = []
    for call in calls_of(tree, tree.module, "load_state_dict"):
        argument = call.args[0].value if call.args else None
        key = _key(argument) if argument is not None else None
        if _receiver(tree, call) not in names and (key is None or key.evaluated_value not in kept):
            continue
        if key is None or not isinstance(argument, cst.Subscript) or not dotted(argument.value):
            raise CannotFixError("the loaded checkpoint is not assigned to a variable")
        found.append((call, tree.text(argument.value)))
    return found


def _saved_key(tree: Tree, call: cst.Call) -> str:
    home, at = _entry(tree, call)
    key: cst.CSTNode | None = None
    if isinstance(home, cst.Dict) and isinstance(entry := home.elements[at], cst.DictElement):
        key = entry.key
    elif isinstance(home, cst.Call):
        keyword = home.args[at].keyword
        return keyword.value if keyword is not None else ""
    elif isinstance(home, cst.Assign):
        key = _key(home.targets[0].target)
    return str(key.evaluated_value) if isinstance(key, cst.SimpleString) else ""


def _last_of_each(tree: Tree, loads: Sequence[tuple[cst.Call, str]]) -> list[tuple[cst.Call, str]]:
    """The last load from each checkpoint in each block: the scaler's comes behind it, once."""
    return list({(tree.block(tree.statement(call)), base): (call, base) for call, base in loads}.values())


def _restore(tree: Tree, call: cst.Call, base: str, key: str, edits: Edits, lines: _Lines) -> None:
    scaler, statement = scaler_at(tree, call), tree.statement(call)
    quoted = next(f"{found.quote}{key}{found.quote}" for each in call.args if (found := _key(each.value)))
    text = f"if {base}.get({quoted}):\n    {scaler}.load_state_dict({base}[{quoted}])\n"
    made = cst.parse_module(text).body[0]
    edits.after.setdefault(statement, []).append(made)
    end = tree.lines(statement)[1]
    lines.append((end, end))


def _one_key(keys: Iterable[str]) -> str:
    found = sorted(set(keys))
    if len(found) != 1:
        raise CannotFixError(f"the scaler's state has {'several keys' if found else 'no literal key'}")
    return found[0]


def _kept(sources: Sources) -> Iterable[str]:
    """The keys under which the project saves a scaler's state already."""
    return (match[1].decode() for file in sources for match in _KEPT.finditer(file.data))


def _loads_elsewhere(tree: Tree, sources: Sources) -> str:
    """Another file, tied to this one by an import of one kind or the other, that loads optimizers."""
    own = next(file for file in sources if file.path == tree.path)
    for file in sources:
        if file.path == tree.path or not _LOADS.search(file.data):
            continue
        names = [_module(path) for path in (tree.path, file.path)]
        users = (each for each in sources if each not in (own, file))
        if (
            _mentions(file.data, names[0])
            or _mentions(own.data, names[1])
            or any(all(_mentions(user.data, name) for name in names) for user in users)
        ):
            return file.path
    return ""


def _module(path: str) -> bytes:
    pure = PurePosixPath(path)
    return (pure.parent.name if pure.stem == "__init__" else pure.stem).encode()


def _mentions(data: bytes, module: bytes) -> bool:
    return bool(re.search(rb"import[^\n]*\b" + re.escape(module) + rb"\b|from\s+[\w.]*\b" + re.escape(module), data))
