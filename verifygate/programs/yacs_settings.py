"""What a yacs `CfgNode` makes of a program: `python train.py SOLVER.MAX_ITER 20`, where a rest of words is merged."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate.programs.option import NOT_KNOWN, Option, Takes, literal, setting_name
from verifygate.static.symbols.program import Function, Module
from verifygate.static.syntax.names import last_name

_NODES = frozenset({"CN", "CfgNode", "ConfigNode"})


def settings_of_yacs(functions: Iterable[Function], modules: Iterable[Module], options: list[Option]) -> list[Option]:
    """The keys that the program merges from its command line: `cfg.merge_from_list(args.opts)`; none where it does not.

    A number keeps its type: yacs refuses an integer in the place of a float, so floats are left out.
    """
    listed = _merged(functions, options)
    if listed is None:
        return []
    found = {}
    for module in modules:
        for function in module.all_functions:
            for name, value, line in _declared(function):
                kind = type(value).__name__
                found[name] = Option(
                    setting_name(name), (name,), module.path, line, kind=kind, default=value, behind=listed.flag
                )
    return list(found.values())


def _merged(functions: Iterable[Function], options: list[Option]) -> Option | None:
    """The option whose words are merged into the configuration."""
    many = {each.name: each for each in options if each.takes is Takes.MANY}
    for function in functions:
        for call in function.calls:
            if last_name(call.func) == "merge_from_list" and call.args:
                for node in ast.walk(call.args[0]):
                    if isinstance(node, ast.Attribute) and node.attr in many:
                        return many[node.attr]
    return None


def _declared(function: Function) -> Iterator[tuple[str, object, int]]:
    """`_C.SOLVER.MAX_ITER = 40000` below a name that is bound to a node: the key, its value, the line."""
    assigned = function.of_kind(ast.Assign)
    roots = {
        target.id
        for node in assigned
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Call) and last_name(node.value.func) in _NODES
    }
    for node in assigned if roots else ():
        value = literal(node.value)
        for target in node.targets:
            root, _, key = ast.unparse(target).partition(".")
            if root in roots and key and value is not NOT_KNOWN and not isinstance(value, float):
                yield key, value, node.lineno
