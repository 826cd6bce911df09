"""Symbols and their digests: what may change without anybody noticing, and what may not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from verifygate.requirements.symbol_digests import MODULE, FileSymbols, Symbols
from verifygate.sources.file import SourceFile, SourceUnreadableError
from verifygate.sources.tree import Sources

LOOP = '''\
"""A loop."""
import torch


def plain():
    pass


class Trainer:
    """Trains."""

    @torch.no_grad()
    def step(self, loss, limit=1.0):
        """Take one step."""
        # clip, then step
        self.scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(self.parameters(), limit)

        def inner(x):
            return x

        return inner


if torch.cuda.is_available():
    def device(): return "cuda"
else:
    def device(): return "cpu"
'''


def read(text: str, path: str = "loop.py") -> FileSymbols:
    return FileSymbols(SourceFile(path, text.encode()))


def digest(text: str, name: str) -> str:
    symbol = read(text).get(name)
    assert symbol is not None
    return symbol.digest


def test_every_function_and_class_has_a_qualified_name():
    """In source order, nested ones below their owner, and a second one of a name apart from the first."""
    names = [symbol.name for symbol in read(LOOP)]
    assert names == [MODULE, "plain", "Trainer", "Trainer.step", "Trainer.step.inner", "device", "device#2"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('"""A loop."""', MODULE),
        ("import torch", MODULE),
        ("class Trainer:", "Trainer"),
        ("@torch.no_grad()", "Trainer.step"),
        ("# clip, then step", "Trainer.step"),
        ("return x", "Trainer.step.inner"),
        ("return inner", "Trainer.step"),
        ('return "cuda"', "device"),
        ('return "cpu"', "device#2"),
    ],
)
def test_a_line_belongs_to_the_innermost_symbol(text: str, name: str):
    (line,) = [number for number, each in enumerate(LOOP.splitlines(), 1) if text in each]
    assert read(LOOP).at(line).name == name


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# clip, then step", "# anything else"),
        ('"""Take one step."""', '"""Take a step\n\n        of some length."""'),
        ('        """Take one step."""\n', ""),
        ("norm_(self.parameters(), limit)", "norm_(\n            self.parameters(),\n            (limit),\n        )"),
        ("limit=1.0", "limit = 1.00"),
        ("def plain():\n    pass", "def other(x):\n    return x"),
        ("def step(self", "def take_step(self"),
    ],
)  # fmt: skip
def test_layout_comments_docstrings_and_its_own_name_leave_a_digest_alone(old: str, new: str):
    """Neither does what stands elsewhere in the file."""
    assert old in LOOP
    name = "Trainer.take_step" if "take_step" in new else "Trainer.step"
    assert digest(LOOP.replace(old, new), name) == digest(LOOP, "Trainer.step")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("limit=1.0", "limit=2.0"),
        ("limit=1.0", "limit=1"),
        ("limit=1.0", "bound=1.0"),
        ("clip_grad_norm_", "clip_grad_value_"),
        ("self.scaler.scale(loss)", "loss"),
        ("@torch.no_grad()\n    ", ""),
        ("def step(self", "async def step(self"),
        ("return inner", "return None"),
        ("            return x\n", "            return -x\n"),
    ],
)
def test_an_identifier_or_a_change_of_logic_changes_the_digest(old: str, new: str):
    assert old in LOOP
    assert digest(LOOP.replace(old, new), "Trainer.step") != digest(LOOP, "Trainer.step")


def test_swapped_statements_change_the_digest():
    lines = LOOP.splitlines()
    first, second = (next(n for n, each in enumerate(lines) if text in each) for text in (".backward()", "clip_grad"))
    lines[first], lines[second] = lines[second], lines[first]
    assert digest("\n".join(lines), "Trainer.step") != digest(LOOP, "Trainer.step")


def test_a_files_own_symbol_is_what_stands_outside_of_functions():
    """A change inside a function is that function's; an import, or a function that comes or goes, is the file's."""
    assert digest(LOOP.replace("limit=1.0", "limit=2.0"), MODULE) == digest(LOOP, MODULE)
    assert digest(LOOP.replace("import torch", "import torch as t"), MODULE) != digest(LOOP, MODULE)
    assert digest(LOOP.replace("def plain", "def bare"), MODULE) != digest(LOOP, MODULE)


def test_digests_are_the_same_for_good():
    """Another value here makes every link in every committed lock suspect: change it only with the lock's version."""
    text = (
        "def f(a, /, b: int = 0xFF, *c, d=None, **e):\n"
        '    return [f"{a!r:>{b}}", b"x", 1j, ..., not a, 1 if a else -0.5]\n'
    )
    assert digest(text, "f") == "dbdf9ff1a541950f1da0a51b"


@pytest.mark.parametrize("text", ["def f(:\n", "x = (\n", "\0"])
def test_what_is_no_python_has_no_symbols(text: str):
    with pytest.raises(SourceUnreadableError):
        read(text)
    symbols = Symbols(Sources([SourceFile("loop.py", text.encode())]))
    assert symbols.of("loop.py") is None
    assert symbols.problem("loop.py")


def test_long_sums_and_odd_constants_have_digests():
    """Neither depth nor an integer too long to print nor a lone surrogate is in the way."""
    sums = "def f():\n    return " + " + ".join(["x"] * 500) + "\n"
    numbers = f"def f():\n    return 0x{'f' * 5000}, '\\ud800'\n"
    assert len({digest(sums, "f"), digest(numbers, "f")}) == 2


def test_symbols_are_found_by_id_and_by_digest():
    sources = Sources([SourceFile("a.py", LOOP.encode()), SourceFile("b.py", b"def again():\n    pass\n")])
    symbols = Symbols(sources)
    step = symbols.get("a.py::Trainer.step")
    assert step is not None
    assert (step.id, step.line, step.first_line) == ("a.py::Trainer.step", 13, 12)
    assert symbols.get("a.py::Trainer.stop") is None
    assert symbols.get("c.py::f") is None
    same = symbols.by_digest[digest("def f():\n    pass\n", "f")]
    assert [symbol.id for symbol in same] == ["a.py::plain", "b.py::again"]


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parent.parent / "verifygate").glob("*.py")), ids=lambda p: p.name
)
def test_real_code_written_out_anew_has_the_same_digests(path: Path):
    """Python's own printer keeps the syntax and nothing of the layout: no comment, no line and no quote as it was."""
    text = path.read_text(encoding="utf-8")
    printed = ast.unparse(ast.parse(text))
    assert printed != text
    assert [(symbol.name, symbol.digest) for symbol in read(printed)] == [
        (symbol.name, symbol.digest) for symbol in read(text)
    ]
