"""Delegated float16: frameworks that run the project's modules in it, apex and those with a `precision` argument."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from verifygate import torch_names
from verifygate.static.symbols.import_graph import ImportGraph
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function, Module
from verifygate.static.syntax.names import simple_name
from verifygate.static.values.domain import ExternalName
from verifygate.static.values.evaluator import Evaluator

WORDS = tuple(
    sorted({f"{name.rpartition('.')[2]}(" for name in torch_names.DELEGATES} | {"apex.amp", "from apex import"})
)
"""What a file that switches one of them on names."""
_WORDS = tuple(word.encode() for word in WORDS)
_SWITCHES = frozenset(word for words in torch_names.DELEGATES.values() for word in words.split())
_FLOAT16 = r"(?<![bf\d])(?:fp)?16(?!\d)"


class Delegation:
    def __init__(self, evaluator: Evaluator, import_graph: ImportGraph, modules: list[Module]) -> None:
        self.evaluator = evaluator
        self.import_graph = import_graph
        self.modules = modules

    @cached_property
    def calls(self) -> list[Location]:
        """The calls that have a framework compute in float16."""
        return [Location(function, node) for node, function in self._looked_at() if self._delegates(node, function)]

    def _looked_at(self) -> Iterator[tuple[ast.Call, Function]]:
        """Every call of the files that name a framework."""
        for module in self.modules:
            for function in module.all_functions if module.mentions(*_WORDS) else ():
                yield from ((node, function) for node in function.calls)

    def over(self, function: Function) -> Location | None:
        """The call by which a framework runs a method of a module in float16, if one may."""
        if function.owner is None or not self.calls:
            return None
        bases = self.evaluator.outside_bases(function.owner)
        if not any(base.startswith("torch.nn.") or base.endswith(".LightningModule") for base in bases):
            return None
        path = function.module.path
        return next((call for call in self.calls if path in self.import_graph.together(call.path)), None)

    def _delegates(self, call: ast.Call, function: Function) -> bool:
        switches = any(word.arg in _SWITCHES for word in call.keywords)
        if not switches and simple_name(call.func) != "initialize":
            return False
        for value in self.evaluator.values(call.func, self.evaluator.root_frame(function)):
            if isinstance(value, ExternalName) and value.name == "apex.amp.initialize":
                return "'O0'" not in ast.unparse(call)
            if isinstance(value, ExternalName) and value.name in torch_names.DELEGATES:
                given = {word.arg: ast.unparse(word.value) for word in call.keywords}
                words = torch_names.DELEGATES[value.name].split()
                return given.get("fp16", "False") not in ("False", "None") or any(
                    re.search(_FLOAT16, given.get(word, "")) for word in words if word not in ("fp16", "bf16")
                )
        return False
