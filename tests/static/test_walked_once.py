"""What a walk of paths leaves out, because it would meet nothing new."""

from __future__ import annotations

import pytest

from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.analysis import Analysis
from verifygate.static.lowering.event_graph import Branch
from verifygate.static.lowering.lower import Lowering
from verifygate.static.lowering.reachability import Reachability
from verifygate.static.paths import entry_points
from verifygate.static.paths.exploration import explore
from verifygate.static.symbols.program import Program

TRAINS = """
import argparse
import torch

def parsed(options=None):
    return argparse.ArgumentParser().parse_args(options)

def main(options):
    model, optimizer = built(options)
    scaler = torch.amp.GradScaler("cuda")
    for batch in options.loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
SCRIPT = """
if __name__ == "__main__":
    main(parsed())
"""


def analysed(code: str) -> Analysis:
    return Analysis(Program(Sources([SourceFile("train.py", code.encode())]), {"train.py": None}))


def roots_walked(code: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The symbols of the functions from which paths are walked; empty for the body of the module."""
    roots = []

    class Noted(Lowering):
        def lower(self):
            roots.append(self.graph.root.symbol)
            return super().lower()

    monkeypatch.setattr(entry_points, "Lowering", Noted)
    analysed(code).violations("AMP201")
    return roots


def test_a_second_entry_to_the_same_function_is_not_walked(monkeypatch):
    """It calls `main` once, straight, and tells nothing that the first did not."""
    again = "\ndef run(**options):\n    chosen = parsed(options)\n    return main(chosen)\n"
    assert roots_walked(TRAINS + SCRIPT + again, monkeypatch) == [""]


@pytest.mark.parametrize(
    "again",
    [
        pytest.param("main(None)", id="it tells what it hands over"),
        pytest.param("for each in chosen:\n        main(each)", id="it calls again and again"),
        pytest.param("main(chosen)\n    main(chosen)", id="it calls twice"),
        pytest.param("optimizer.zero_grad()\n    main(chosen)", id="it has an event of its own"),
    ],
)
def test_an_entry_that_adds_something_is_walked(again: str, monkeypatch):
    """The states of one call may meet those of another, and what is told decides conditions."""
    assert roots_walked(f"{TRAINS}{SCRIPT}\ndef run(chosen):\n    {again}\n", monkeypatch) == ["", "run"]


def test_a_condition_on_which_nothing_depends_is_not_asked():
    """Its ways meet again before anything happens, and so do those of the condition around it."""
    code = TRAINS.replace(
        "        scaler.update()",
        "        scaler.update()\n        if options.slow:\n            if options.wait:\n                amp = True\n"
        "            else:\n                amp = False\n        if options.last:\n            break",
    )
    seen = analysed(code)
    (root,) = (function for function in seen.functions if function.symbol == "main")
    graph = Lowering(root, seen.roles, Reachability(seen.roles)).lower()
    asked = {
        graph.nodes[number].payload.atom.text
        for exploration in explore(graph)
        for number, _ in exploration.predecessors.parents
        if is_branch(graph, number)
    }
    assert asked == {"train.py:main:options.last"}


def is_branch(graph, number: int) -> bool:
    return isinstance(graph.nodes[number].payload, Branch)
