"""Models: a library as the few dozen lines of Python that it is, which the machine executes as it does the project.

A model is a file that states which names it stands for, `MODELS = ("accelerate",)`, and binds what is found below them:
`accelerate.utils.GradScalerKwargs` is `GradScalerKwargs` there. What it does not bind is not known, as without a model.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache, cached_property
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.sources.file import SourceFile
from verifygate.static.machine.call import NoLibrary
from verifygate.static.symbols.program import Module
from verifygate.static.syntax.parser import UnparsableError, parse

BUILT_IN = Path(__file__).parents[1] / "models"
STATES = "MODELS"
"""The variable in which a model states what it stands for."""


class Model(Module):
    """A parsed model."""

    is_model = True

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
    """The models of a folder's files, or of some files. Several may model one package, each other names of it.

    A name that two of them bind is that of the one that states more of its path, and of two such the later one's.
    """

    def __init__(self, files: Iterable[Path] = ()) -> None:
        self._files = tuple(files)

    def model(self, name: str) -> Module | None:
        space, _, last = name.rpartition(".")
        while space:
            for model in self._by_name.get(space, ()):
                if last in model.bound:
                    return model
            space = space.rpartition(".")[0]
        return None

    @cached_property
    def _by_name(self) -> dict[str, list[Model]]:
        found: dict[str, list[Model]] = {}
        for model in map(read_model, reversed(self._files)):
            for name in stated(model):
                found.setdefault(name, []).append(model)
        return found


@cache
def read_model(file: Path) -> Model:
    """Parse a model. Raises UsageError for one that cannot be read, or does not state what it models."""
    try:
        source = SourceFile(f"<model>/{file.name}", file.read_bytes())
        model = Model(source, parse(source))
    except OSError as error:
        raise UsageError(f"the model cannot be read: {error.strerror}", where=str(file)) from error
    except UnparsableError as error:
        raise UsageError(f"the model is not Python: {error}", where=str(file)) from error
    if not stated(model):
        remedy = f"begin it with {STATES} = ('PACKAGE',): the name that programs import"
        raise UsageError("the model does not state what it models", where=str(file), remedy=remedy)
    return model


def stated(model: Module) -> tuple[str, ...]:
    """The dotted names that a model states; none where it states none, or no list of them."""
    for node in model.tree.body:
        if isinstance(node, ast.Assign) and [getattr(each, "id", "") for each in node.targets] == [STATES]:
            values = node.value.elts if isinstance(node.value, ast.Tuple | ast.List) else []
            names = [each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            return tuple(names) if len(names) == len(values) else ()
    return ()


MODELS = Models(sorted(BUILT_IN.glob("*.py")))
