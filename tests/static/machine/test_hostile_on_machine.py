"""Sources made to fill the memory, to recurse or to run for ever end within the machine's limits."""

from __future__ import annotations

from resource import RUSAGE_SELF, getrusage

import pytest
from run_text import program_of

from verifygate.static.machine.core import Limits
from verifygate.static.machine.entries import Entry
from verifygate.static.machine.machine import Machine, given_up, run_entries, run_entry
from verifygate.static.machine.values import Place

_STEPS = 5_000
SOURCES = {
    "functions that call each other": "def f(n):\n    return g(n)\ndef g(n):\n    return f(n)\nf(1)\n",
    "calls nested deeper than the limit": "".join(f"def f{n}(): return f{n + 1}()\n" for n in range(99)) + "f0()\n",
    "calls that multiply": "".join(f"def f{n}():\n    f{n + 1}()\n    f{n + 1}()\n    f{n + 1}()\n" for n in range(20))
    + "def f20(): pass\nf0()\n",
    "loops in loops": "".join(f"{'    ' * n}for a{n} in range(1000):\n" for n in range(12)) + f"{'    ' * 12}x = a11\n",
    "many independent tests": "".join(f"if u{n} > 0:\n    x = {n}\n" for n in range(300)),
    "texts and numbers that double": "x, y = 'a' * 9999, 3\n" + "x = x + x\ny = y * y\n" * 100,
    "widths of formats": "f'{1:>1000000000}'\n'%*d' % (10**9, 1)\n'a'.ljust(10**9)\n'{:>99999999}'.format(1)\n",
    "results that have no hash": "x = ''.maketrans('a', 'b')\nif x: y = {x: 1}\n",
    "ranges": "for i in range(10**18): pass\nlist(range(10**18))\nrange(1, 2, 0)\nrange('a')\n[0] * 10**18\n",
    "containers that hold themselves": "l = []\nl.append(l)\nd = {}\nd['d'] = d\nf(l, **d)\nfor x in l: x += l\n",
    "methods that call themselves": (
        "class A:\n    def __getattr__(self, name): return getattr(self, name + 'x')\n"
        "    def __call__(self): return self()\n"
        "    def __add__(self, other): return self + other\n    def __iter__(self): return self\n"
        "    def __next__(self): return A()\n    @property\n    def p(self): return self.p\n"
        "A().z\nA()()\nA() + 1\nA().p\nfor a in A():\n    for b in a: pass\n"
    ),
    "generators of themselves": "def g():\n    yield from g()\n    yield 1\nfor x in g(): pass\n",
    "classes without an order": "class A: pass\nclass B(A): pass\nclass C(A, B): pass\nclass D(D): pass\nC().x\n",
    "what Python refuses": ("a, *b, c = 1\n(1, 2)[::0]\n[1][1:'a']\n{[1]: 2}[[1]]\nprint(*1, **2)\ndel y\nraise\n"),
    "arguments that do not fit": "def f(a, /, b, *, c=1): return a\nf()\nf(1, 2, 3, 4)\nf(b=1, **{1: 2})\n",
    "a whole file of one expression": f"x = {' + '.join(['y'] * 240)}\nz = {'-' * 200}1\n",
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_hostile_source_ends_within_the_limits(name: str) -> None:
    outcome = run_entry(program_of(SOURCES[name]), Entry("train.py"), limits=Limits(steps=_STEPS))
    assert not outcome.ended
    assert 0 < outcome.steps < 2 * _STEPS


def test_an_entry_that_takes_too_many_steps_is_given_up_and_says_so() -> None:
    text = "x = 1\n" * 500
    outcome = run_entry(program_of(text), Entry("train.py"), limits=Limits(steps=100))
    assert outcome.ended == "more than 100 steps"


def test_past_the_budget_calls_are_not_followed_and_the_rest_still_runs() -> None:
    text = "def f(): return 1\n" + "f()\n" * 60 + "import sys\nx = f()\n"
    outcome = run_entry(program_of(text), Entry("train.py"), limits=Limits(steps=100))
    assert not outcome.ended
    assert [each.reason for each in outcome.not_followed][-1].endswith("steps: `f` is not followed")


def test_a_fault_of_the_machine_costs_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERIFYGATE_RAISE")
    monkeypatch.setattr("verifygate.static.machine.statements.Statements.go_on", lambda *_: 1 / 0)
    outcome = run_entry(program_of("if unheard_of: pass\n"), Entry("train.py"))
    assert outcome.ended.startswith("the machine broke: ZeroDivisionError")


def test_a_tree_has_a_budget_and_what_it_leaves_out_is_counted() -> None:
    program = program_of("import a\nx = 1\n", {"a.py": "y = 1\n", "b.py": "import a\n", "c.py": "import a\n"})
    entries = [Entry(path) for path in ("train.py", "b.py", "c.py")]
    found = list(run_entries(program, entries, most_steps=4))
    assert [each.steps for each in found] == [3, 1, 0]  # `a` has run already
    assert given_up(found) == {"all entries before it took 4 steps": 1}


def test_the_machine_makes_calls_without_mapping_memory_at_any_depth() -> None:
    calls = 500
    faults: list[int] = []

    def deeper(depth: int) -> int:
        if depth > 0:
            return deeper(depth - 1)
        if depth < 0:
            return 0
        before = getrusage(RUSAGE_SELF).ru_minflt
        for _ in range(calls):
            deeper(-1)
        return getrusage(RUSAGE_SELF).ru_minflt - before

    def observe(_machine: Machine, _place: Place) -> None:
        faults.extend(deeper(depth) for depth in range(300))

    run_entry(program_of("x = 1\n"), Entry("train.py"), observer=observe)
    assert max(faults) < calls / 2  # a call past the end of a chunk of frames faults each time
