"""The libraries that a run is given besides Python itself: `libraries_for` says which, by the settings."""

from __future__ import annotations

from functools import cache

from verifygate.config.model_files import ModelFile
from verifygate.config.rule_selection import RuleSelection
from verifygate.sources.tree import Sources
from verifygate.static.machine.call import Library
from verifygate.static.machine.machine import Machine
from verifygate.static.machine.models import Models, built_in, cannot_be_followed, of_project, stated
from verifygate.static.machine.torch_library.library import TORCH, TORCH_WITHOUT_CUDA
from verifygate.static.machine.versions import Versions
from verifygate.static.symbols.program import Program

_BUILT_IN = Models(built_in)
_NEWEST = Versions({})
LIBRARIES: tuple[Library, ...] = (TORCH, _BUILT_IN, _NEWEST)
"""Those of a run without settings."""
WITHOUT_CUDA: tuple[Library, ...] = (TORCH_WITHOUT_CUDA, _BUILT_IN, _NEWEST)
"""The same on a computer that has no GPU."""


def libraries_for(settings: RuleSelection) -> tuple[Library, ...]:
    """The libraries for a tree, by its settings: the models that it brings, then the built-in ones, in its versions.

    Raises UsageError for a model that cannot be used.
    """
    own = _checked(settings.models)
    return (TORCH, *own, _BUILT_IN, Versions(settings.versions))


@cache
def _checked(files: tuple[ModelFile, ...]) -> tuple[Models, ...]:
    """The models that a project brings, once each has run by itself."""
    models = of_project(files)
    if not models:
        return ()
    found = Models(lambda: models, tuple(name for model in models for name in stated(model)))
    machine = Machine(Program(Sources(()), {}), (TORCH, found, _BUILT_IN, _NEWEST))
    for model in models:
        machine.begin()
        machine.load_model(model)
        for unknown in machine.not_followed:
            where = f"{model.shown}:{unknown.place.line if unknown.place is not None else 1}"
            raise cannot_be_followed(unknown.reason, where)
    return (found,)
