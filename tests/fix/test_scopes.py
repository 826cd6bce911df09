"""The scopes that fixes go by are libcst's, though they are worked out without its wrapper."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from libcst import metadata

from verifygate.fix import amp_imports
from verifygate.fix.concrete_tree import Tree, read_module

SHAPES = b"""
import torch
from torch.cuda.amp import GradScaler as Scaler

class Trainer:
    kind: type = Scaler

    def __init__(self, *models, half=True):
        self.scaler = Scaler(enabled=half)
        self.models = [model.to("cuda") for model in models if (asked := torch.numel(model))]
        del half

    def step(self, torch):
        def inner():
            nonlocal torch
            torch = torch.optim
            return torch.SGD([weight for weight in self.models])
        global Scaler
        Scaler = lambda scale, /: torch.float(scale)
        return inner()
"""


@pytest.mark.parametrize("code", [SHAPES, Path(amp_imports.__file__).read_bytes()], ids=["shapes", "a module"])
def test_each_node_has_the_scope_that_libcst_gives_it(code: bytes):
    """The same kind of scope with the same bindings, and every called name means the same there."""
    module = read_module(code)
    theirs = metadata.MetadataWrapper(module, unsafe_skip_copy=True).resolve(metadata.ScopeProvider)
    tree = Tree("code.py", module)

    ours = {node: tree.scope(node) for node in theirs}

    assert {type(scope) for scope in theirs.values()} > {metadata.GlobalScope, metadata.FunctionScope}
    assert {node: told(scope) for node, scope in ours.items()} == {node: told(scope) for node, scope in theirs.items()}
    calls = [call for call in tree.within(module, cst.Call) if call in theirs]
    assert calls
    for call in calls:
        assert meant(ours[call], call) == meant(theirs[call], call)


def told(scope: metadata.Scope | None) -> object:
    if scope is None:
        return None
    bound = {each.name: len(scope[each.name]) for each in scope.assignments}
    return type(scope), bound, sorted(id(access.node) for access in scope.accesses)


def meant(scope: metadata.Scope | None, call: cst.Call) -> object:
    return scope and {(name.name, name.source) for name in scope.get_qualified_names_for(call.func)}
