"""What the scaler is called at a place in a file, where that is sure: it is made on every way there, and made once."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from verifygate.fix.concrete_tree import Tree, dotted, method_call
from verifygate.fix.draft import CannotFixError
from verifygate.fix.scaler_calls import scalers_in


def scaler_at(tree: Tree, node: cst.CSTNode) -> str:
    """The one scaler that is at hand, as it is written there. Raises CannotFixError for none, and for several."""
    names = {name for name, made in _made(tree) if _reaches(tree, name, made, node)} | set(_parameters(tree, node))
    if len(names) != 1:
        told = "several scalers are" if names else "no scaler that is surely made before is"
        function = tree.function(node)
        where = f"in `{function.name.value}`" if isinstance(function, cst.FunctionDef) else "there"
        raise CannotFixError(f"{told} at hand {where}")
    return names.pop()


def _made(tree: Tree) -> Iterator[tuple[str, cst.BaseAssignTargetExpression]]:
    """Each `name = GradScaler(...)`: the name as written, and the node of it."""
    for node in tree.within(tree.module, cst.Assign):
        if len(node.targets) == 1 and _is_scaler(tree, node.value):
            yield tree.text(node.targets[0].target), node.targets[0].target
    for annotated in tree.within(tree.module, cst.AnnAssign):
        if annotated.value is not None and _is_scaler(tree, annotated.value):
            yield tree.text(annotated.target), annotated.target


def _is_scaler(tree: Tree, value: cst.BaseExpression) -> bool:
    if not isinstance(value, cst.Call) or (scope := tree.scope(value)) is None:
        return False
    names = {qualified.name for qualified in scope.get_qualified_names_for(value.func)}
    return bool(names) and all(name.startswith("torch.") and name.endswith("GradScaler") for name in names)


def _reaches(tree: Tree, name: str, made: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether `name`, at `node`, surely is the scaler that is made at `made`."""
    parts = dotted(made)
    if len(parts) == 1:
        scope = tree.scope(node)
        bound = list(scope[name]) if scope is not None else []
        alone = len(bound) == 1 and getattr(bound[0], "node", None) is made
        return alone and _is_before(tree, made, node)
    home = _class(tree, made)
    if len(parts) != 2 or parts[0] != "self" or home is None or home is not _class(tree, node):
        return False
    targets = [each.target for each in tree.within(home, cst.AssignTarget)]
    targets += [each.target for each in tree.within(home, cst.AnnAssign)]
    if sum(tree.text(target) == name for target in targets) != 1:
        return False
    maker = tree.function(made)
    if maker is tree.function(node):
        return _is_before(tree, made, node)
    if not isinstance(maker, cst.FunctionDef) or maker.name.value != "__init__":
        return False
    return tree.block(tree.statement(made)) is maker.body and not _is_called_before(tree, home, made, node)


def _is_before(tree: Tree, made: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether the block that makes the scaler holds the node too, further down where both run in one go."""
    if not any(here is tree.block(tree.statement(made)) for here in tree.above(node)):
        return False
    return tree.function(made) is not tree.function(node) or tree.lines(made)[1] < tree.lines(node)[0]


def _is_called_before(tree: Tree, home: cst.ClassDef, made: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether `__init__` may run the method around the node before it makes the scaler."""
    methods = {each.name.value: each for each in home.body.body if isinstance(each, cst.FunctionDef)}
    maker, goal, line = tree.function(made), tree.function(node), tree.lines(made)[0]
    queue = [call for call in tree.within(maker, cst.Call) if tree.lines(call)[0] < line]
    seen: set[str] = set()
    while queue:
        parts = method_call(queue.pop())
        if parts is None or tree.text(parts[0]) != "self" or parts[1] in seen or parts[1] not in methods:
            continue
        seen.add(parts[1])
        queue += tree.within(methods[parts[1]], cst.Call)
    return any(methods[name] is goal for name in seen)


def _class(tree: Tree, node: cst.CSTNode) -> cst.ClassDef | None:
    return next((here for here in tree.above(node) if isinstance(here, cst.ClassDef)), None)


def _parameters(tree: Tree, node: cst.CSTNode) -> Iterator[str]:
    """Parameters that the function around the node scales with, whatever it is given."""
    function, scope = tree.function(node), tree.scope(node)
    if not isinstance(function, cst.FunctionDef) or scope is None:
        return
    scaling = set(scalers_in(tree, function))
    given = function.params
    for parameter in (*given.posonly_params, *given.params, *given.kwonly_params):
        name = parameter.name.value
        if name not in scaling or parameter.default is not None or len(scope[name]) != 1:
            continue
        if not re.search(
            rf"(?<![\w.]){name}\s+is\s+(?:not\s+)?None|\b(?:if|and|or|not)\s+{name}\b(?!\.)", tree.text(function)
        ):
            yield name
