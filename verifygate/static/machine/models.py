"""Models: a library as the few dozen lines of Python that it is, which the machine executes as it does the project.

A model is a file that states which names it stands for, `MODELS = ("accelerate",)`, and binds what is found below them:
`accelerate.utils.GradScalerKwargs` is `GradScalerKwargs` there. What it does not bind is not known, as without a model.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.config.model_files import ModelFile
from verifygate.sources.file import SourceFile
from verifygate.static.machine.call import NoLibrary
from verifygate.static.machine.constructs import first_refused
from verifygate.static.symbols.program import Module
from verifygate.static.syntax.parser import UnparsableError, parse

FOLDER = Path(__file__).parents[1] / "models"
"""Where those are that verifygate has."""
STATES = "MODELS"
"""The variable in which a model states what it stands for."""
PROJECTS = "<model of the project>/"
"""Begins the path of a model that the project brings."""


class Model(Module):
    """A parsed model."""

    is_model = True

    @property
    def shown(self) -> str:
        """Its path as the configuration has it."""
        return self.path.removeprefix(PROJECTS)

    @property
    def package(self) -> str:  # type: ignore[override]
        return stated(self)[0]

    @cached_property
    def bound(self) -> frozenset[str]:
        """The names that it binds; not those that it imports."""
        found: set[str] = set()
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.Assign):
                names = (each for target in node.targets for each in ast.walk(target))
                found.update(each.id for each in names if isinstance(each, ast.Name))
        return frozenset(found)


class Models(NoLibrary):
    """Some models by the names that they stand for. They are read when the first of these names is asked for.

    Several may model one package, each other names of it. A name that two of them bind is that of the one that states
    more of its path, and of two such the later one's.
    """

    def __init__(self, models: Callable[[], Iterable[Model]], replaced: tuple[str, ...] = ()) -> None:
        self._models = models
        self.replaced = replaced

    def model(self, name: str) -> Module | None:
        space, _, last = name.rpartition(".")
        while space and name.partition(".")[0] in self._heads:
            for model in self._by_name.get(space, ()):
                if last in model.bound:
                    return model
            space = space.rpartition(".")[0]
        return None

    @cached_property
    def _by_name(self) -> dict[str, list[Model]]:
        found: dict[str, list[Model]] = {}
        for model in reversed([*self._models()]):
            for name in stated(model):
                found.setdefault(name, []).append(model)
        return found

    @cached_property
    def _heads(self) -> frozenset[str]:
        return frozenset(name.partition(".")[0] for name in self._by_name)


@cache
def built_in() -> tuple[Model, ...]:
    """The models that verifygate has."""
    return tuple(
        _read(SourceFile(f"<model>/{file.name}", file.read_bytes()), str(file)) for file in sorted(FOLDER.glob("*.py"))
    )


@cache
def of_project(files: tuple[ModelFile, ...]) -> tuple[Model, ...]:
    """The models that a project brings. Raises UsageError for the first that is broken, or that is one too many."""
    models = tuple(_read(SourceFile(f"{PROJECTS}{each.path}", each.text.encode()), each.path) for each in files)
    of: dict[str, str] = {}
    for model in models:
        line, unbound = min(_unbound(model), default=(0, ""))
        if unbound:
            raise cannot_be_followed(f"`{unbound}` is not seen to be bound", f"{model.shown}:{line}")
        for name in stated(model):
            if of.setdefault(name, model.shown) != model.shown:
                where = f"{model.shown}:{_line_of_names(model)}"
                raise UsageError(f"`{name}` has a model in {of[name]} too", where=where, remedy="keep one of the two")
    return models


def _read(source: SourceFile, where: str) -> Model:
    """Parse a model. Raises UsageError for one that is no Python, states no names, or cannot be followed exactly."""
    try:
        model = Model(source, parse(source, slims=False))
    except UnparsableError as error:
        line, problem = re.fullmatch(r"(?:line (\d+): )?(.*)", str(error), re.DOTALL).groups()  # type: ignore[union-attr]
        place = f"{where}:{line or 1}"
        raise UsageError(f"the model is no Python: {problem}", where=place, remedy="correct it") from error
    if not stated(model):
        remedy = f'begin it with {STATES} = ("PACKAGE",): the name that programs import'
        place = f"{where}:{_line_of_names(model)}"
        raise UsageError("the model does not state what it models", where=place, remedy=remedy)
    refused = first_refused(model.tree)
    if refused is not None:
        problem = f"{refused.what} is not followed exactly, so a model must not have it"
        raise UsageError(problem, where=f"{where}:{refused.line}", remedy=refused.remedy)
    return model


def cannot_be_followed(reason: str, where: str) -> UsageError:
    """The error for a model that lacks what it needs."""
    remedy = "bind what it needs in the model itself"
    return UsageError(f"the model cannot be followed: {reason}", where=where, remedy=remedy)


def _unbound(model: Model) -> Iterator[tuple[int, str]]:
    """The global names that a model reads, also in functions, and neither it nor Python binds; with a line of each."""
    try:
        top = symtable.symtable(model.file.text, model.path, "exec")
    except (SyntaxError, RecursionError, ValueError):
        return  # of a newer Python; a name is missed when the machine comes to it
    scopes = [top]
    for each in scopes:
        scopes += each.get_children()
    symbols = [(scope, symbol) for scope in scopes for symbol in scope.get_symbols()]
    bound = {*dir(builtins), "__file__"}
    for scope, symbol in symbols:
        if (scope is top or symbol.is_declared_global()) and (symbol.is_assigned() or symbol.is_imported()):
            bound.add(symbol.get_name())
    loads = [each for each in ast.walk(model.tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]
    for scope, symbol in symbols:
        name, begin = symbol.get_name(), scope.get_lineno()
        if symbol.is_referenced() and (scope is top or symbol.is_global()) and name not in bound:
            yield min((each.lineno for each in loads if each.id == name and each.lineno >= begin), default=begin), name


def stated(model: Module) -> tuple[str, ...]:
    """The dotted names that a model states; none where it states none, or no list of them."""
    node = _names(model)
    values = node.value.elts if node is not None and isinstance(node.value, ast.Tuple | ast.List) else []
    names = [each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    is_whole = len(names) == len(values) and all(part.isidentifier() for each in names for part in each.split("."))
    return tuple(names) if is_whole else ()


def _names(model: Module) -> ast.Assign | None:
    for node in model.tree.body:
        if isinstance(node, ast.Assign) and [getattr(each, "id", "") for each in node.targets] == [STATES]:
            return node
    return None


def _line_of_names(model: Module) -> int:
    node = _names(model)
    return node.lineno if node is not None else 1
