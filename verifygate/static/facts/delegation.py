"""Delegated float16: frameworks that run the project's modules in it, apex and those with a `precision` argument."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from verifygate import torch_names
from verifygate.configured_precision.read import ConfiguredPrecision
from verifygate.configured_precision.setting import ACCELERATE, LIGHTNING, Setting
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
    def __init__(
        self,
        evaluator: Evaluator,
        import_graph: ImportGraph,
        modules: list[Module],
        configuration: ConfiguredPrecision,
    ) -> None:
        self.evaluator = evaluator
        self.import_graph = import_graph
        self.configuration = configuration
        self.modules = modules

    @cached_property
    def calls(self) -> list[Location]:
        """The calls that have a framework compute in float16."""
        return [Location(function, node) for node, function in self._looked_at() if self._delegates(node, function)]

    def scales(self, makers: tuple[str, ...], path: str) -> bool | None:
        """Whether the programs of a file run one of these frameworks in float16; None where that cannot be told.

        Where the code does not say the precision, the files that configure it do. It cannot be told where these do not
        agree or are composed when the program starts, nor in a program that makes no such framework.
        """
        in_code = self._in_code(makers, path)
        if in_code is not None:
            return in_code
        said = {each.scales for each in self.configured(makers, path)}
        return said.pop() if len(said) == 1 else None

    def configured(self, makers: tuple[str, ...], path: str) -> list[Setting]:
        """What the files that configure the programs of a file set for the precision, where their code does not."""
        if self._in_code(makers, path) is not None:
            return []
        framework = ACCELERATE if makers[0].startswith("accelerate.") else LIGHTNING
        found = self.configuration.of(framework, path, self.import_graph.together(path))
        return [each for each in found if each.aspect == "precision"]

    def _in_code(self, makers: tuple[str, ...], path: str) -> bool | None:
        """Whether the calls of the framework in these programs scale; None where they do not say."""
        files = self.import_graph.together(path)
        if any(call.path in files and self._made_by(call, makers) for call in self.calls):
            return True
        made = [call for call in self._makers if call.path in files and self._made_by(call, makers)]
        return False if made and all(self._is_told(call) for call in made) else None

    @cached_property
    def _makers(self) -> list[Location]:
        """The calls of what a precision may be given to."""
        names = {name.rpartition(".")[2] for name in torch_names.DELEGATES}
        return [Location(function, node) for node, function in self._looked_at() if simple_name(node.func) in names]

    def _looked_at(self) -> Iterator[tuple[ast.Call, Function]]:
        """Every call of the files that name a framework."""
        for module in self.modules:
            for function in module.all_functions if module.mentions(*_WORDS) else ():
                yield from ((node, function) for node in function.calls)

    def _made_by(self, place: Location, makers: tuple[str, ...]) -> bool:
        frame = self.evaluator.root_frame(place.function)
        values = self.evaluator.values(place.node.func, frame)  # type: ignore[attr-defined]
        return any(isinstance(value, ExternalName) and value.name in makers for value in values)

    def _is_told(self, place: Location) -> bool:
        """Whether the call itself says the precision, or leaves it at float32."""
        call: ast.Call = place.node  # type: ignore[assignment]
        given = [word.value for word in call.keywords if word.arg in _SWITCHES]
        if any(word.arg is None for word in call.keywords):
            return False
        if not given:
            return simple_name(call.func) != "Accelerator"  # which asks the command that launches it
        return all(isinstance(each, ast.Constant) for each in given)

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
