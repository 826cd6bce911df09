"""Roles by use: the table of uses, and how uses flow through names, fields, elements and calls."""

from __future__ import annotations

import ast

import pytest

from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.symbols.program import Program
from verifygate.static.uses.role_inference import RolesByUse
from verifygate.static.uses.roles import Evidence, Role, Use, roles_of
from verifygate.static.values.domain import ExternalResult
from verifygate.static.values.evaluator import Evaluator


@pytest.mark.parametrize(
    ("uses", "roles"),
    [
        (Use.NONE, set()),
        (Use.SCALES, set()),  # a transform of images scales as well
        (Use.STEPS, set()),  # a schedule steps as well
        (Use.ZEROES, set()),  # and a model has zero_grad
        (Use.UPDATES | Use.STEPS_ANOTHER, set()),  # env.step(action), env.update()
        (Use.UNSCALES, {Role.SCALER}),
        (Use.SCALES_A_BACKWARD, {Role.SCALER}),
        (Use.SCALES | Use.STEPS_ANOTHER, {Role.SCALER}),
        (Use.SCALES | Use.UPDATES, {Role.SCALER}),
        (Use.STEPS_A_ZEROED | Use.UPDATES, {Role.SCALER}),
        (Use.IS_UNSCALED, {Role.OPTIMIZER}),
        (Use.STEPS | Use.ZEROES, {Role.OPTIMIZER}),
        (Use.STEPS | Use.HAS_GROUPS, {Role.OPTIMIZER}),
        (Use.STEPS | Use.ZEROES | Use.GOES_BACK, set()),  # an engine
        (Use.SCALES_A_BACKWARD | Use.RUNS, set()),
    ],
)
def test_what_uses_prove(uses, roles):
    assert roles_of(uses) == roles


def test_evidence_is_graded():
    assert sorted(Evidence) == [Evidence.NAME, Evidence.ANNOTATION, Evidence.USE, Evidence.OBJECT]


def roles(text: str, asked: str) -> set[Role]:
    """The roles of the first expression that reads `asked` in a program of one file."""
    program = Program(Sources([SourceFile("a.py", text.encode())]), {"a.py": None})
    module = program.module("a.py")
    evaluator = Evaluator(program, [module])
    by_use = RolesByUse(evaluator)
    for function in module.all_functions:
        for node in function.own_nodes:
            if isinstance(node, ast.expr) and ast.unparse(node) == asked:
                frame = evaluator.root_frame(function)
                return {role for role in Role if by_use.has(role, node, frame)}
    raise AssertionError(f"{asked} is not read")


LOOSE = ["", ": Any", ": Optional[Any]", ": Any | None", ": 'GradScaler | None'", ": object", ": Union[Any, int]"]
HANDED_OVER = """
from typing import Any, Optional, Union
import torch

def make():
    return {{"s": torch.amp.GradScaler("cuda") if torch.cuda.is_available() else None}}

def use(a{}):
    return a

def main():
    use(make()["s"])
"""


@pytest.mark.parametrize("annotation", LOOSE)
def test_annotations_that_name_no_class_leave_what_the_calls_say(annotation: str):
    """Also where they stand inside of `Optional`, beside None, or in quotes."""
    program = Program(Sources([SourceFile("a.py", HANDED_OVER.format(annotation).encode())]), {"a.py": None})
    module = program.module("a.py")
    evaluator = Evaluator(program, [module])
    use = next(each for each in module.all_functions if each.symbol == "use")
    (read,) = [node.value for node in use.own_nodes if isinstance(node, ast.Return)]
    made = {each.name for each in evaluator.values(read, evaluator.root_frame(use)) if isinstance(each, ExternalResult)}
    assert "torch.amp.GradScaler" in made


KEPT = """
class T:
    def __init__(self, s, o):
        self.a, self.b = s, o

    def go(self, loss):
        self.a.scale(loss).backward()
        self.a.step(self.b)
"""
DERIVED = """
class U:
    def end(self):
        self.a.state_dict()

class T(U):
    def go(self, loss):
        self.a.scale(loss).backward()
"""
LOOP = "a.scale(loss).backward()\n    a.step(b)\n    a.update()"


@pytest.mark.parametrize(
    ("text", "asked", "found"),
    [
        (f"def f(a, b, loss):\n    {LOOP}\n", "a", {Role.SCALER}),
        (f"def f(a, b, loss):\n    {LOOP}\n", "b", {Role.OPTIMIZER}),
        ("def f(a, loss):\n    x = a.scale(loss)\n    x.backward()\n", "a", {Role.SCALER}),
        ("def f(a):\n    a.step()\n", "a", set()),
        ("def f(a, b):\n    a.step(b)\n", "b", set()),
        # an alias, on either side
        (f"def f(s, b, loss):\n    a = s\n    {LOOP}\n", "s", {Role.SCALER}),
        ("def f(s, loss):\n    a = s\n    s.scale(loss).backward()\n    print(a)\n", "a", {Role.SCALER}),
        ("def f(s, t, c, loss):\n    a = s if c else t\n    s.scale(loss).backward()\n    print(a)\n", "a", set()),
        # a field, and what is kept in it
        (KEPT, "s", {Role.SCALER}),
        (KEPT, "o", {Role.OPTIMIZER}),
        (DERIVED, "self.a", {Role.SCALER}),
        # elements
        ("def f(all, a):\n    for o in all:\n        a.unscale_(o)\n", "o", {Role.OPTIMIZER}),
        ("def f(all, a):\n    print(all[0])\n    for o in all:\n        a.unscale_(o)\n", "all[0]", {Role.OPTIMIZER}),
        ("def f(all):\n    for k, o in all.items():\n        o.step()\n        o.zero_grad()\n", "o", {Role.OPTIMIZER}),
        # through calls: what a parameter is used for, its argument is
        (
            "def g(s, l):\n    s.scale(l).backward()\ndef f(a, l):\n    g(a, l)\n    print(a)\n",
            "a",
            {Role.SCALER},
        ),
        ("def f(a, l):\n    print(a)\n    g(l, s=a)\ndef g(l, s):\n    s.scale(l).backward()\n", "a", {Role.SCALER}),
        # and a parameter is what all calls pass
        ("def g(s):\n    s.state_dict()\ndef f(a, l):\n    a.scale(l).backward()\n    g(a)\n", "s", {Role.SCALER}),
        (
            "def g(s):\n    s.state_dict()\ndef f(a, l):\n    a.scale(l).backward()\n    g(a)\ndef h(b):\n    g(b)\n",
            "s",
            set(),
        ),
        # a nested function uses the variable of the one around it
        (f"def f(a, b, loss):\n  def go():\n    {LOOP}\n  print(a)\n", "a", {Role.SCALER}),
    ],
)
def test_uses_flow(text, asked, found):
    assert roles(text, asked) == found
