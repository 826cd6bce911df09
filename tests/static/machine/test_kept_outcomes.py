"""A call that reads what an earlier one read is answered by it; one that reads anything else runs."""

from __future__ import annotations

import pytest
from run_text import MAIN, program_of, variable
from tiny_torch import TinyTorch

from verifygate.events.record import Event
from verifygate.static.machine.machine import Machine
from verifygate.static.machine.store import Store
from verifygate.static.machine.values import Address, constant

HEAD = """
import torch
log, state, seen = [], {"n": 0}, 0

class Counter:
    def __init__(self):
        self.n = 0

def pure(a, b=1):
    c = Counter()
    c.n = a
    return (c.n, b)

def reads(key):
    return state[key]

def writes(value):
    state["n"] = value
    return value

def tests(value):
    if unheard_of > value:
        return 1
    return 2

counter = Counter()
x = None
"""
STEP = "net = torch.nn.Linear(2, 2)\ndef step(n):\n    return n(torch.randn(2))\n"


def runs(text: str) -> tuple[Machine, Machine]:
    """The machine with and without keeping outcomes."""
    both = []
    for keeps in (True, False):
        machine = Machine(program_of(HEAD + text), (TinyTorch(),))
        machine.keeps = keeps
        assert machine.run_module(MAIN)
        both.append(machine)
    return both[0], both[1]


@pytest.mark.parametrize(
    ("text", "is_answered"),
    [
        ("for _ in range(99):\n    x = pure(3)", True),
        ("for _ in range(99):\n    x = reads('n')", True),
        ("for k in (1, 2):\n    x = pure(k)", False),
        ("for k in range(99):\n    writes(k)\n    x = reads('n')", True),
        ("for _ in range(99):\n    x = reads('m')\n    state['m'] = 4", False),
        ("for _ in range(99):\n    x = hasattr(counter, 'm') and counter.m\n    counter.m = 4", False),
        ("for _ in range(99):\n    x = tests(3)", False),
        (
            f"{STEP}for each in (False, True):\n    with torch.autocast('cuda', enabled=each):\n        x = step(net)",
            False,
        ),
    ],
)
def test_what_is_kept_changes_no_value_and_no_event(text: str, is_answered: bool) -> None:
    kept, afresh = runs(text)
    assert bool(kept.replayed) is is_answered
    assert variable(kept, "x") == variable(afresh, "x")
    assert variable(kept, "state") == variable(afresh, "state")
    assert _events(kept) == _events(afresh)


def _events(machine: Machine) -> list[Event]:
    return [each.event for each in machine.events]


def test_what_a_call_wrote_is_no_more_than_that() -> None:
    """Layers of the store grow together; what an older one holds was not written since."""
    store = Store()
    for number in range(6):
        store.write(Address(number, None), "n", constant(number))
        store = store.fork()
    start = store.fork()
    written = {Address(name, None): {"n": constant(9)} for name in ("a", "b", 3)}
    for address in written:
        store.write(address, "n", constant(9))
    store = store.fork()
    assert store.changes(start) == written
