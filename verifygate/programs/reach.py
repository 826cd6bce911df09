"""Follow a program from the body of its file down the calls: what it runs, and the training step that it comes to."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from verifygate.programs.lightning_settings import is_cli
from verifygate.sources.byte_patterns import Alternatives
from verifygate.sources.file import SourceFile
from verifygate.sources.notebook import NotebookFile
from verifygate.sources.tree import Sources
from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.symbols.import_graph import ImportGraph
from verifygate.static.symbols.program import Function, Program
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import FunctionValue
from verifygate.static.values.evaluator import Evaluator

TRAINS = Alternatives(r"\.backward\(|manual_backward\(|\.fit\(|Trainer|\.train\(|\.minimize\(|LightningCLI")
"""What a file has in it that trains, itself or by a framework."""
_BACKWARDS = frozenset({"backward", "manual_backward"})
_STEPS = frozenset({"step", "training_step", "train_batch"})
_MOST_FUNCTIONS = 3000
"""Functions that are followed of one program; one that comes to no step by then is none that is found."""


@dataclass(frozen=True)
class Step:
    """A training step of the source."""

    path: str
    line: int


@dataclass(frozen=True)
class Reached:
    """What a program runs, as far as calls can be followed."""

    functions: tuple[Function, ...]
    """The body of its file first; every function once."""
    calls: Mapping[Function, Sequence[tuple[Function, ast.Call]]]
    """Function -> what it runs, each with the call that does."""
    step: Step | None

    @cached_property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.module.path for each in self.functions))


class Reach:
    """Answers for the programs of one tree of sources. Files are parsed when a call leads to them."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.program = Program(sources, {file.path: None for file in sources if _is_code(file)})
        self.enclosing = EnclosingNodes()

    @property
    def import_graph(self) -> ImportGraph:
        return self.program.import_graph

    @cached_property
    def training(self) -> frozenset[str]:
        """The files that have a word of training in them."""
        return frozenset(file.path for file in self.sources if _is_code(file) and TRAINS.found_in(file.data))

    def candidates(self) -> list[SourceFile]:
        """The files that a person may start, and that import what trains, or train."""
        graph = self.import_graph
        return [
            file
            for file in self.sources
            if _is_code(file)
            and not file.is_test
            and (file.is_script or file.path.endswith("__main__.py") or not graph.is_imported(file.path))
            and self._leads_to_training(file.path)
        ]

    @cached_property
    def _evaluator(self) -> Evaluator:
        """One for all programs: most of them share the files between their start and their steps."""
        paths = {path for file in self.candidates() for path in self.import_graph.closure(file.path)}
        modules = [self.program.module(each) for each in sorted(paths) if self._leads_to_training(each)]
        return Evaluator(self.program, [each for each in modules if each is not None])

    def of(self, path: str) -> Reached | None:
        """What the file runs when it is started; None where it cannot be parsed."""
        module = self.program.module(path)
        if module is None:
            return None
        calls: dict[Function, list[tuple[Function, ast.Call]]] = {}
        ahead = [module.body]
        while ahead and len(calls) < _MOST_FUNCTIONS:
            each = ahead.pop()
            if each not in calls:
                calls[each] = list(_called(each, self._evaluator))
                ahead += [callee for callee, _ in reversed(calls[each])]
        return Reached(tuple(calls), calls, step_of(tuple(calls)))

    def stepping(self) -> Iterator[Function]:
        """The functions that hold a whole training step, in files that are no tests."""
        for file in self.sources.each(sorted(self.training)):
            module = None if file.is_test else self.program.module(file.path)
            for function in module.functions.values() if module is not None else ():
                if step_of((function,)) is not None:
                    yield function

    def _leads_to_training(self, path: str) -> bool:
        return not self.training.isdisjoint(self.import_graph.closure(path))


def _is_code(file: object) -> bool:
    return not isinstance(file, NotebookFile)


def _called(function: Function, evaluator: Evaluator) -> Iterator[tuple[Function, ast.Call]]:
    """The functions that a function may run, each with the call: those that it calls, or hands to a call."""
    frame = evaluator.root_frame(function)
    for call in function.calls:
        found = [each.function for each in evaluator.callees(call, frame)]
        yield from ((each, call) for each in found)
        handed = [*call.args, *(word.value for word in call.keywords)]
        named = [each for each in handed if isinstance(each, ast.Name | ast.Attribute)]
        for expr in named if found else (*named, call.func):
            values = evaluator.values(expr, frame)
            yield from ((each.function, call) for each in values if isinstance(each, FunctionValue))
            if isinstance(expr, ast.Name):
                yield from ((each, call) for each in _decorated(expr.id, function))


def _decorated(name: str, function: Function) -> Iterator[Function]:
    """The function of a name in its own file, whatever its decorators make of it; and the commands of a group."""
    module = function.module
    found = module.functions.get(name)
    if found is not None and not isinstance(found.node, ast.Module) and found.node.decorator_list:
        yield found
    if not function.symbol:
        for each in module.functions.values():
            for decorator in getattr(each.node, "decorator_list", ()):
                made = decorator.func if isinstance(decorator, ast.Call) else decorator
                if isinstance(made, ast.Attribute) and isinstance(made.value, ast.Name) and made.value.id == name:
                    yield each


def step_of(functions: tuple[Function, ...]) -> Step | None:
    """The first training step among what is run: a backward beside an optimizer's step, or a framework's `fit`."""
    steps = any(
        isinstance(call.func, ast.Attribute) and call.func.attr in _STEPS for each in functions for call in each.calls
    )
    for function in functions:
        for call in function.calls:
            if (steps and last_name(call.func) in _BACKWARDS) or _is_fit(call, function) or is_cli(call, function):
                return Step(function.module.path, call.lineno)
    return None


def _is_fit(call: ast.Call, function: Function) -> bool:
    """Whether a call hands a whole training to a framework: `trainer.fit(model)`, `Trainer(...).train()`."""
    if not isinstance(call.func, ast.Attribute):
        return False
    receiver = last_name(call.func.value).lower()
    if call.func.attr == "fit":
        return "trainer" in receiver or "fabric" in receiver or function.module.mentions(b"lightning")
    return call.func.attr == "train" and "trainer" in receiver and function.module.mentions(b"transformers", b"trl")
