"""A call that reads what an earlier one read is answered by it; one that reads anything else runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from run_text import MAIN, program_of, variable
from tiny_torch import TinyTorch

from verifygate.events.record import Event
from verifygate.sources.discovery import read_sources
from verifygate.static.machine.entries import Entry
from verifygate.static.machine.libraries import LIBRARIES
from verifygate.static.machine.machine import Machine, run
from verifygate.static.machine.observations import Accumulated, Observation, renamed
from verifygate.static.machine.trace import Emitted
from verifygate.static.machine.values import Address, Decisions
from verifygate.static.symbols.program import Program

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "twin"))
from programs import programs

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
RAISES = """
def inner():
    state["n"] = 5
    raise ValueError

def outer():
    inner()

try:
    inner()
except ValueError:
    state["n"] = 0
if unheard_of > 3:
    outer()
try:
    outer()
except ValueError:
    x = state["n"]
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
        ("x = (pure(1), 0, pure(1))", True),
        ("a = pure(1)\nfor k in (1, 2):\n    x = pure(k)", True),
        ("for k in range(99):\n    writes(k)\n    x = reads('n')", True),
        ("for _ in range(99):\n    x = reads('m')\n    state['m'] = 4", False),
        ("for _ in range(99):\n    x = hasattr(counter, 'm') and counter.m\n    counter.m = 4", False),
        ("for _ in range(99):\n    x = tests(3)", True),
        ("for k in range(99):\n    x = pure(1 if unheard_of > k else None)", True),
        ("def again(n):\n    return again(n) if unheard_of > n else n\nx = (again(1), again(1))", True),
        ("def a(n):\n    return b(n)\ndef b(n):\n    return a(n) if unheard_of > n else n\nx = (a(1), b(1))", False),
        (RAISES, True),
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


def test_an_event_is_one_object_however_often_it_happens() -> None:
    text = f"import torch\n{STEP}net = torch.nn.Linear(2, 2)\n" + "step(net)\n" * 5
    machine = Machine(program_of(text), LIBRARIES)
    assert machine.run_module(MAIN)
    assert machine.replayed == 4
    assert [(each.event.operator, each.event.line) for each in machine.events] == [
        ("torch.randn", 4),
        ("torch.nn.functional.linear", 4),
    ]


def test_a_test_of_the_round_before_is_another_than_that_of_this_round() -> None:
    text = "before = False\nfor k in range(9):\n    now = unheard_of > k\n    if not now and before:\n        x = 'a'\n"
    for machine in runs(f"{text}    before = now\n"):
        assert "'a'" in variable(machine, "x").split(" | ")


def test_what_is_answered_comes_from_where_its_own_tensors_were_made() -> None:
    zero = "torch.zeros((), dtype=torch.float16)"
    text = f"def add(total):\n    total.add_(1.0)\n    return {zero}\na = {zero}\nb = {zero}\nadd(a)\nadd(add(b))\n"
    machine = Machine(program_of(f"import torch\n{text}"), LIBRARIES)
    assert machine.run_module(MAIN)
    seen = [each.seen for each in machine.events if isinstance(each.seen, Accumulated)]
    assert machine.replayed == 1
    assert [(each.made and each.made.line, each.is_older) for each in seen] == [(5, True), (6, True), (4, False)]


def _events(machine: Machine) -> list[Event]:
    return [each.event for each in machine.events]


def test_no_event_of_a_program_that_runs_is_another_for_what_is_kept() -> None:
    """Of all programs that the twin runs: without keeping anything, with it, and where all of it is kept already."""
    replayed = 0
    for each in programs():
        sources = read_sources(each.folder, list(each.files))
        program = Program(sources, {file.path: None for file in sources})
        afresh, keeping = Machine(program, LIBRARIES), Machine(program, LIBRARIES)
        afresh.keeps = False
        expected = run(afresh, Entry(each.entry))
        for _ in range(2):
            found = run(keeping, Entry(each.entry))
            assert found.ended == expected.ended
            assert [*map(_shown, found.events)] == [*map(_shown, expected.events)], each.name
            assert dict.fromkeys(found.not_followed) == dict.fromkeys(expected.not_followed), each.name
        replayed += keeping.replayed
    assert replayed


def _shown(emitted: Emitted) -> tuple[Event, Decisions, bool, Observation | None]:
    """An event with the places of objects for their addresses, which are another machine's own."""
    seen = emitted.seen
    if seen is not None:
        seen = renamed(seen, lambda address: Address("", None, address.place), lambda decisions: decisions)
    return emitted.event, emitted.decisions, emitted.is_partial, seen
