"""The table of modules against the installed torch: what each holds, and which operator its call runs."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode, resolve_name

from verifygate.static.machine.torch_library import layers
from verifygate.static.machine.torch_library.operators import operator

CONSTRUCTED = [(), (2,), (2, 2), (1, 2), (2, 2, 1), (2, 2, 2), (1, (1, 2)), ((2, 2), 1)]
SHAPES = [(2, 2), (1, 2, 2), (1, 2, 4), (1, 2, 4, 4), (1, 2, 4, 4, 4)]
NAMES = sorted(name for name in layers._LAYERS if not name.startswith("Lazy") and name != "SyncBatchNorm")


class Names(TorchFunctionMode):
    """The operators that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.found.append((resolve_name(func) or "").replace("torch.functional.", "torch."))
        return func(*args, **(kwargs or {}))


def made(name: str) -> Iterator[torch.nn.Module]:
    """The module, made with whatever arguments it takes."""
    for arguments in CONSTRUCTED:
        try:
            yield getattr(torch.nn, name)(*arguments)
        except (TypeError, ValueError, RuntimeError, AssertionError):
            continue


def given(shape: tuple[int, ...]) -> Iterator[tuple[torch.Tensor, ...]]:
    """Arguments of a call: a tensor, two or three; indices; an input with targets."""
    x = torch.rand(shape)
    yield (x,)
    yield (x, x)
    yield (x, x, x)
    yield (x, x, torch.ones(shape[0]))
    yield (torch.zeros(shape, dtype=torch.int64),)
    yield (x, torch.zeros(shape[0], dtype=torch.int64))
    yield (x, x, torch.ones(shape))
    if len(shape) == 3:
        yield (x.log_softmax(-1), torch.ones(1, dtype=torch.int64), torch.tensor([1]), torch.tensor([1]))
        yield (x.log_softmax(-1), torch.ones(2, 1, dtype=torch.int64), torch.tensor([1, 1]), torch.tensor([1, 1]))


def runs(name: str, wanted: str) -> set[str]:
    """The operators that calls of the module run, up to the first one that runs what is wanted."""
    found: set[str] = set()
    for module, shape in itertools.product(made(name), SHAPES):
        for arguments in given(shape):
            try:
                with Names() as names:
                    module(*arguments)
            except Exception:  # noqa: S112 - arguments that it does not take
                continue
            found |= set(names.found)
            if wanted in found:
                return found
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_call_runs_the_operator_of_the_table(name: str):
    known = layers.layer(f"torch.nn.{name}")
    assert known is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = runs(name, known.operator)
    if known.operator:
        assert known.operator in found
        assert operator(known.operator) is not None
    else:
        assert not found


@pytest.mark.parametrize("name", NAMES)
def test_a_layer_holds_the_parameters_and_buffers_of_the_table(name: str):
    known = layers.layer(f"torch.nn.{name}")
    module = next(made(name))
    assert known is not None
    assert [each for each, _ in module.named_parameters()] == [each for each, _ in known.parameters]
    for parameter, (_, dimensions) in zip(module.parameters(), known.parameters, strict=True):
        assert dimensions in (None, parameter.dim())
    floats = [each for each, buffer in module.named_buffers() if buffer.is_floating_point()]
    assert floats == list(known.buffers)


@pytest.mark.parametrize("name", sorted(layers.HOLDING))
def test_a_module_of_several_operators_holds_parameters(name: str):
    assert hasattr(torch.nn, name)
    assert layers.holds_parameters(f"torch.nn.{name}")
