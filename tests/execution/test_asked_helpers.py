"""What tests compare with is asked whether it tells 0 from 1."""

from __future__ import annotations

import math
import sys
import types
import unittest
from typing import Any

import pytest

from verifygate.instrument.pytest_plugin.helpers import QUESTIONS, Helpers


def test_honest_helpers_tell_them_apart() -> None:
    pytest.importorskip("torch.testing")
    pytest.importorskip("numpy.testing")
    assert QUESTIONS.keys() <= sys.modules.keys(), "all were asked"
    assert list(Helpers().dull()) == []


@pytest.mark.parametrize(
    ("module", "owner", "name", "lie"),
    [
        ("pytest", pytest, "approx", lambda _: 1.0),
        ("math", math, "isclose", lambda *_: True),
        ("unittest", unittest.TestCase, "assertEqual", lambda *_: None),
        ("unittest", unittest.TestCase, "assertTrue", lambda *_: None),
        ("torch", "torch", "allclose", lambda *_: True),
        ("torch.testing", "torch.testing", "assert_close", lambda *_: None),
        ("numpy.testing", "numpy.testing", "assert_allclose", lambda *_: None),
    ],
)
def test_one_that_lets_everything_pass_is_named(
    monkeypatch: pytest.MonkeyPatch, module: str, owner: Any, name: str, lie: object
) -> None:
    if isinstance(owner, str):
        owner = pytest.importorskip(owner)
    helpers = Helpers()
    assert list(helpers.dull()) == []
    monkeypatch.setattr(owner, name, lie)
    (named,) = helpers.dull()
    assert (named.startswith(module), named.endswith(name)) == (True, True)
    assert list(helpers.dull()) == [], "each is told once"


def test_a_stand_in_for_a_module_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that need no torch may put something in its place."""
    stub = types.ModuleType("torch.testing")
    stub.assert_close = lambda *_: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.testing", stub)
    assert list(Helpers().dull()) == []
