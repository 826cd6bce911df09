"""Monkeypatching: functions and classes of the project that are other ones while a function runs.

`monkeypatch.setattr(lib, "load", fake)`, `mock.patch("lib.load")`, `patch.object(lib, "load")`, `lib.load = fake`:
what such a function returns is not known below the call that replaced it, nor in a test that names the fixture.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from verifygate.sources.byte_patterns import Alternatives
from verifygate.static.symbols.program import Class, Function, Module
from verifygate.static.syntax.names import last_name, simple_name
from verifygate.static.values.domain import ClassValue, Frame, FunctionValue, Literal, ModuleValue, Value

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation

_WORDS = Alternatives(r"setattr\(|\bpatch\b")
_PATCHERS = ("monkeypatch", "mocker")
"""Fixtures that a helper of the tests is handed, to replace something for its caller."""
_PREPARES = ("setUp", "setup_method", "setUpClass", "setup_class")

Replaced = frozenset[Function | Class]


class ReplacedFunctions:
    """Answers for each function once."""

    def __init__(self, evaluator: Evaluation) -> None:
        self._evaluator = evaluator
        self._known: dict[Function, Replaced] = {}
        self._fixtures: dict[Module, dict[str, Function]] = {}

    def holds(self, callee: Value, frame: Frame) -> bool:
        """Whether a callee may be another function in a frame, or in one of those that entered it."""
        if callee.__class__ is FunctionValue:
            what: Function | Class = callee.function
        elif callee.__class__ is ClassValue:
            what = callee.made
        else:
            return False
        here: Frame | None = frame
        while here is not None:
            if what in self._under(here.function):
                return True
            here = here.caller
        return False

    def _under(self, function: Function) -> Replaced:
        """What is replaced while a function runs."""
        known = self._known.get(function)
        if known is None:
            self._known[function] = frozenset()  # to find out, functions of the tests may be called
            known = self._known[function] = frozenset(self._found(function))
        return known

    def _found(self, function: Function) -> Iterator[Function | Class]:
        yield from self._replaced_by(function)
        file = function.module.file
        if not file.is_test or not function.symbol:
            return
        for call in function.calls:
            if any(isinstance(given, ast.Name) and given.id in _PATCHERS for given in call.args):
                for callee in self._evaluator.callees(call, self._evaluator.root_frame(function)):
                    yield from self._replaced_by(callee.function)
        if function.owner is not None:
            yield from self._by_decorators(function.owner.node, function.module)
            for name in _PREPARES:
                if (method := function.owner.methods.get(name)) is not None and method is not function:
                    yield from self._replaced_by(method)
        named = {each.arg for each in function.parameters}
        for name, fixture in self._fixtures_of(function.module).items():
            if fixture is not function and (name in named or _is_automatic(fixture)):
                yield from self._under(fixture)

    def _replaced_by(self, function: Function) -> Iterator[Function | Class]:
        """What the statements and the decorators of one function replace."""
        module = function.module
        frame = self._evaluator.root_frame(function)
        for target in (target for node in function.of_kind(ast.Assign) for target in node.targets):
            if isinstance(target, ast.Attribute) and self._is_imported(target.value, frame):
                yield from self._members(self._evaluator.values(target.value, frame), target.attr)
        if not module.mentions(b"setattr(", b"patch"):
            return
        for call in function.calls:
            yield from self._patched(call, frame)
        if not isinstance(function.node, ast.Module):
            yield from self._by_decorators(function.node, module)

    def _by_decorators(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, module: Module
    ) -> Iterator[Function | Class]:
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call):
                yield from self._patched(decorator, self._evaluator.module_frame(module))

    def _patched(self, call: ast.Call, frame: Frame) -> Iterator[Function | Class]:
        """What a call replaces, if it is one that does."""
        name, given = last_name(call.func), call.args
        if name not in ("setattr", "patch", "object") or not given:
            return
        if name == "object" and "patch" not in ast.unparse(call.func):
            return
        texts = [value.value for value in self._evaluator.values(given[0], frame) if isinstance(value, Literal)]
        for text in texts:
            if isinstance(text, str):
                yield from self._dotted(text, frame.function.module)
        if not texts and len(given) > 1 and isinstance(given[1], ast.Constant) and isinstance(given[1].value, str):
            yield from self._members(self._evaluator.values(given[0], frame), given[1].value)

    def _dotted(self, name: str, importer: Module) -> Iterator[Function | Class]:
        """What `package.module.Class.method` means, as seen from a file."""
        parts = name.split(".")
        for count in range(len(parts) - 1, 0, -1):
            module = self._evaluator.program.imported(".".join(parts[:count]), importer)
            if module is None:
                continue
            values: tuple[Value, ...] = (ModuleValue(module),)
            for part in parts[count:-1]:
                values = tuple(inner for value in values for inner in self._attribute(value, part))
            yield from self._members(values, parts[-1])
            return

    def _is_imported(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether `a.b` begins with an import."""
        while isinstance(expr, ast.Attribute):
            expr = expr.value
        found = self._evaluator.lookup(expr.id, frame) if isinstance(expr, ast.Name) else None
        return found is not None and any(binding.kind in ("module", "member") for binding in found[0])

    def _members(self, bases: tuple[Value, ...], name: str) -> Iterator[Function | Class]:
        for base in bases:
            for value in self._attribute(base, name):
                if isinstance(value, FunctionValue):
                    yield value.function
                elif isinstance(value, ClassValue):
                    yield value.made

    def _attribute(self, base: Value, name: str) -> tuple[Value, ...]:
        match base:
            case ModuleValue(module=module) | ClassValue(made=Class(module=module)):
                frame = self._evaluator.module_frame(module)
                return tuple(self._evaluator.attribute(base, name, ast.Name("", ast.Load()), frame))
        return ()

    def _fixtures_of(self, module: Module) -> dict[str, Function]:
        """The fixtures that tests of a file can name: its own, and those of each `conftest.py` above it."""
        if module not in self._fixtures:
            folders = module.path.split("/")[:-1]
            paths = ["/".join([*folders[:count], "conftest.py"]) for count in range(len(folders) + 1)]
            program = self._evaluator.program
            files = [file for path in paths if (file := program.sources.get(path)) is not None]
            parsed = [program.module(file.path) for file in files if _WORDS.found_in(file.data)]
            self._fixtures[module] = {
                function.name: function
                for each in (*filter(None, parsed), module)
                for function in each.holding(b"fixture")
                if any(_is_fixture(decorator) for decorator in getattr(function.node, "decorator_list", ()))
            }
        return self._fixtures[module]


def _is_fixture(decorator: ast.expr) -> bool:
    return simple_name(decorator.func if isinstance(decorator, ast.Call) else decorator) == "fixture"


def _is_automatic(fixture: Function) -> bool:
    decorators = getattr(fixture.node, "decorator_list", ())
    return any("autouse=True" in ast.unparse(each) for each in decorators if isinstance(each, ast.Call))
