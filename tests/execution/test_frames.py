"""Frames: which place of the project called into torch, through wrappers of the instruments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from verifygate.instrument.patching.frames import Place, caller, of_torch_or_ours, stack
from verifygate.instrument.patching.wrapping import replace, replace_around


def located(*_arguments: Any) -> Place:
    return caller(of_torch_or_ours)


def test_a_recorder_s_wrapper_is_never_the_place():
    """Its code has no file; a gap of the CUDA emulation behind it was once placed in the wrapper."""
    module = SimpleNamespace(ask=lambda: caller(lambda path: path == __file__ or of_torch_or_ours(path)))
    replace(module, "ask", lambda _arguments, _keywords: lambda _result, _raised: None, lambda _error: None)
    path, _ = module.ask()
    assert not path.startswith("<")
    assert path != __file__


@pytest.mark.parametrize("around", [lambda original, value: original(value + 1)])
def test_an_intervention_decides_what_the_original_is_passed(around: Callable[..., Any]):
    module = SimpleNamespace(double=lambda value: 2 * value)
    replace_around(module, "double", around)
    assert module.double(1) == 4


def test_the_stack_is_innermost_first():
    frames = list(stack(sys._getframe()))
    assert frames[0] is sys._getframe()
    assert frames[1] is sys._getframe(1)
    assert located()[0] == __file__
