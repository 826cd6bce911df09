"""Source for a newer Python than the gate's is analysed, with its line numbers; what cannot be is named as such."""

from __future__ import annotations

import ast

import pytest

from verifygate.config.rule_selection import RuleSelection
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse
from verifygate.static.syntax.newer_python import downlevelled

TABLE = {
    "type X = int": ("3.12", "X = int"),
    "type Pair[A, B] = dict[A, B]": ("3.12", "Pair = dict[A, B]"),
    "def f[T](x: T) -> T:\n    return x": ("3.12", "def f(x: T) -> T:\n    return x"),
    "async def f[**P](x):\n    pass": ("3.12", "async def f(x):\n    pass"),
    "def f[\n    T,\n    *Ts,\n](x):\n    return x": ("3.12", "def f(x):\n    return x"),
    "class A[T: (int, str)](B, metaclass=M):\n    def g[U](self):\n        pass": (
        "3.12",
        "class A(B, metaclass=M):\n\n    def g(self):\n        pass",
    ),
    "class A[T = int]:\n    pass": ("3.13", "class A:\n    pass"),
    "try:\n    pass\nexcept A, B.c:\n    pass": ("3.14", "try:\n    pass\nexcept (A, B.c):\n    pass"),
    "try:\n    pass\nexcept* A, B:\n    pass": ("3.14", "try:\n    pass\nexcept* (A, B):\n    pass"),
    'x = t"{a}"': ("3.14", 'x = f"{a}"'),
    'x = f"{d["k"]}"': ("3.12", 'x = f"""{d[\'k\']}"""'),
    "x = f'{d['k']:>{w['n']}} {y!r}' 'abc'": ("3.12", "x = f'''{d[\"k\"]:>{w[\"n\"]}} {y!r}abc'''"),
    'x = f"{f"{f"{x}"}"}"': ("3.12", "x = f'''{f\"{f'{x}'}\"}'''"),
    'x = f"{"""a"""}"': ("3.12", 'x = f"""{\'a\'}"""'),
    'x = f"{d["k"]} is \\"quoted\\""': ("3.12", 'x = f"""{d[\'k\']} is \\"quoted\\""""'),
    'x = f"{\n    a  # what it is\n}"': ("3.12", 'x = f"{a}"'),
}


@pytest.mark.parametrize(("newer", "expected"), TABLE.items())
def test_rewritten(newer: str, expected: tuple[str, str]):
    version, older = expected

    made = downlevelled(f"{newer}\n")

    assert made.needs.startswith(f"Python {version}: ")
    assert ast.dump(ast.parse(made.code)) == ast.dump(ast.parse(older))


@pytest.mark.parametrize("newer", TABLE)
def test_lines_keep_their_numbers(newer: str):
    made = downlevelled(f"\n{newer}\nlast = 1\n")

    *_, last = ast.parse(made.code).body
    assert last.lineno == newer.count("\n") + 3


@pytest.mark.parametrize("newer", TABLE)
def test_definitions_that_are_parsed_by_themselves(newer: str):
    """In a function, among others, as rules look at it."""
    inside = "\n".join(f"    {line}" for line in newer.splitlines())
    text = f"import torch\n\n\ndef outer(scaler):\n{inside}\n    scaler.unscale_(1)\n"

    assert not analyse(Sources([SourceFile("train.py", text.encode())]), RuleSelection()).not_analysed


@pytest.mark.parametrize(
    "text",
    [
        "type = 3\ntype[int]\nprint(type (x))\n",
        'x = f"{x=}{y!r:>{3}}{{}}" rf"\\d{n}"\n',
        "try:\n    pass\nexcept (A, B) as error:\n    pass\n",
        "match x:\n    case [1, *rest]:\n        type\n",
        "def f(x, y=lambda: 0): return x[1:2, ...]\n",
    ],
)
def test_what_is_not_newer_stays(text: str):
    made = downlevelled(text)

    assert (made.code, made.needs) == (text, "")


@pytest.mark.parametrize("text", ['x = f"{d["k"]', "def f[T(x): pass", 'f"' + '{f"' * 40, "type X[ = 3", 'f"{x:', "\\"])
def test_what_is_cut_short_stays(text: str):
    assert downlevelled(text).code == text


def test_findings_stand_on_their_lines():
    text = """\
import torch

type Batch = tuple[torch.Tensor, ...]


def train[M: torch.nn.Module](model: M, optimizer, scaler, batches: list[Batch], names):
    for x, y in batches:
        optimizer.zero_grad()
        loss = model(x, y)
        print(f"{names["train"]}: {loss}")
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
    result = analyse(Sources([SourceFile("train.py", text.encode())]), RuleSelection(select=("AMP201",)))

    assert [(each.line, each.column) for each in result.findings] == [(12, 9)]
    assert not result.not_analysed


def test_what_is_broken_besides_names_the_python_that_it_is_for():
    text = "import torch\nscaler = torch.amp.GradScaler()\ntype X = int\nclass = 3\n"

    (lost,) = analyse(Sources([SourceFile("train.py", text.encode())]), RuleSelection()).not_analysed

    assert lost.reason == "line 4: invalid syntax (the file needs Python 3.12: type aliases)"
