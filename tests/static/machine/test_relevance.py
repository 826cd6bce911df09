"""Which functions may leave an event that a rule reads, and which calls the machine does not follow."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from run_text import program_of

from verifygate.events.record import Kind
from verifygate.sources.discovery import read_sources
from verifygate.static.machine import followed
from verifygate.static.machine.call import Matter
from verifygate.static.machine.core import Limits
from verifygate.static.machine.entries import Entry
from verifygate.static.machine.followed import NOT_RELEVANT
from verifygate.static.machine.libraries import LIBRARIES
from verifygate.static.machine.machine import NOTHING_TO_SHOW, Outcome, run_entries, run_entry
from verifygate.static.machine.python.library import PYTHON
from verifygate.static.machine.relevance import Closure, Relevance
from verifygate.static.symbols.program import Program

MODULE = "class G(nn.Module):\n    def __init__(self):\n        pass\n"
sys.path.insert(0, str(Path(__file__).parent.parent.parent / "twin"))

from programs import TwinProgram, programs  # type: ignore[import-not-found] # noqa: E402

HEAD = "import numpy as np\nimport torch\nfrom torch import nn\n"


def closure(text: str, symbol: str, files: dict[str, str] | None = None) -> Closure:
    relevance = Relevance(program_of(HEAD + text, files), (PYTHON, *LIBRARIES))
    return next(each for each in relevance.closures.values() if each.facts.symbol == symbol)


@pytest.mark.parametrize(
    ("text", "matter", "reason"),
    [
        ("def f(x):\n    return np.mean(x)", Matter.NOTHING, ""),
        (
            "def f(x):\n    with torch.no_grad():\n        return x.cpu().numpy().mean()",
            Matter.OF_STATE,
            "`f` has `.cpu`",
        ),
        ("def f(x):\n    with torch.autocast('cuda'):\n        pass", Matter.EVENT, "`f` uses `torch.autocast`"),
        ("def f(x):\n    return torch.float16", Matter.EVENT, "`f` uses `torch.float16`"),
        ("def f(x):\n    return torch.cat([x, x])", Matter.NOTHING, ""),
        ("def f(x):\n    x.backward()", Matter.EVENT, "`f` has `.backward`"),
        ("def f(x):\n    x.half()", Matter.OF_STATE, "`f` has `.half`"),
        ("def f(x):\n    x += 1", Matter.OF_STATE, "`f` adds in place"),
        ("def g(x):\n    torch.save(x, 'x')\ndef f(x):\n    g(x)", Matter.EVENT, "`g` uses `torch.save`"),
        (
            "class G(nn.Module):\n    def __init__(self):\n        pass\ndef f():\n    G()",
            Matter.EVENT,
            "`G.__init__` makes",
        ),
        (
            "class G(nn.Module):\n    def __init__(self):\n        pass\ndef f(x):\n    isinstance(x, G)",
            Matter.NOTHING,
            "",
        ),
        ("import plots\ndef f(x):\n    plots.draw(x)", Matter.EVENT, "`draw` uses `torch.optim.SGD`"),
        ("from plots import draw as d\ndef f(x):\n    d(x)", Matter.EVENT, "`draw` uses `torch.optim.SGD`"),
        ("def f(x):\n    x.draw(x)", Matter.NOTHING, ""),
    ],
)
def test_what_a_function_may_come_to(text: str, matter: Matter, reason: str) -> None:
    found = closure(text, "f", {"plots.py": "import torch\ndef draw(x):\n    torch.optim.SGD(x)"})
    assert found.matter is matter
    assert found.reason.startswith(reason)
    assert bool(found.reason) == bool(reason)


LONG = "".join(f"    x{each} = np.abs({each})\n" for each in range(60))
SAVING = "class A:\n    def save(self):\n        torch.save(1, 'x')\n"
MODEL = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(2, 2)\n"
FRAME = f"{HEAD}{MODEL}net = Net()\n"


def outcome(text: str, *, follows_all: bool = False) -> Outcome:
    return run_entry(program_of(text), Entry("train.py"), LIBRARIES, Limits(follows_all=follows_all))


def left_out(text: str) -> list[str]:
    return [each.reason.split("`")[1] for each in outcome(text).not_followed if each.reason.endswith(NOT_RELEVANT)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"def draw(x):\n{LONG}draw(torch.zeros(2))", ["draw"]),
        ("def draw(x):\n    np.abs(x)\ndraw(torch.zeros(2))", []),  # it costs nothing
        (f"def draw(x):\n{LONG}    x.half()\ndraw(torch.zeros(2))", ["draw"]),  # no rule reads the cast of a tensor
        (f"def draw(x):\n{LONG}    x.half()\ndraw(net)", []),
        (f"def draw(x):\n{LONG}    return x\ny = draw(torch.zeros(2))", []),
        (f"def draw(x):\n{LONG}    return x\ndraw(torch.zeros(2))", ["draw"]),
        (f"def draw(x):\n{LONG}    return x0\ny = draw(np.zeros(2))", ["draw"]),
        (f"def draw(x):\n{LONG}    x()\ndraw(lambda: torch.save(net, 'x'))", []),
        (f"def save():\n    torch.save(net, 'x')\ndef draw(x):\n{LONG}    x()\ndraw(save)", []),
        (f"class A:\n    def draw(self):\n{LONG}        pass\nA().draw()".replace("    x", "        x"), ["A.draw"]),
        (f"{SAVING}def draw(x, name):\n{LONG}    getattr(x, name)()\ndraw(A(), np.abs(1))", []),
    ],
)
def test_calls_that_are_not_followed(text: str, expected: list[str]) -> None:
    assert left_out(FRAME + text) == expected


def test_what_it_may_have_written_is_not_known_and_what_it_was_given_is() -> None:
    made = f"class A:\n    def __init__(self, lr):\n{LONG}        self.lr = lr\n        self.n = np.abs(lr)\n"
    made = made.replace("    x", "        x")
    text = f"{FRAME}{made}a = A(0.1)\ntorch.optim.SGD(net.parameters(), lr=a.lr)\ntorch.save(a.n, 'x')"
    events = outcome(text).events
    rates = [each.seen.rates for each in events if each.event.kind.value == "optimizer"]  # type: ignore[union-attr]
    assert [rate.value for each in rates for rate in each] == [0.1]
    assert left_out(text) == ["A.__init__"]


def test_programs_of_which_nothing_comes_are_not_run() -> None:
    program = program_of("import torch\ntorch.save(1, 'x')", {"draw.py": "import numpy as np\nnp.abs(1)"})
    entries = [Entry("train.py"), Entry("draw.py")]
    assert [each.ended for each in run_entries(program, entries, LIBRARIES)] == ["", NOTHING_TO_SHOW]
    assert [each.ended for each in run_entries(program, entries, LIBRARIES, Limits(follows_all=True))] == ["", ""]


def shown(program: TwinProgram, *, follows_all: bool) -> tuple[set[object], int]:
    """What rules read of the events of a program of the twin, and how many calls were not followed."""
    sources = read_sources(program.folder, list(program.files))
    made = Program(sources, {file.path: None for file in sources})
    found = run_entry(made, Entry(program.entry), LIBRARIES, Limits(follows_all=follows_all))
    read = (each.event for each in found.events if each.event.kind is not Kind.OPERATOR)
    events: set[object] = {
        (each.kind, each.line, each.file, each.dtypes_in, each.region, each.in_region, each.grad_mode, each.scaled)
        for each in read
    }
    return events, sum(each.reason.endswith(NOT_RELEVANT) for each in found.not_followed)


def test_no_event_that_a_rule_reads_is_lost_in_a_program_of_the_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where each function is judged, however short."""
    monkeypatch.setattr(followed, "CHEAP", 0)
    every = 0
    for program in programs():
        found, left = shown(program, follows_all=False)
        if left:
            assert not shown(program, follows_all=True)[0] - found, program.name
        every += left
    assert every > 20
