"""Marks in the functions of tests: what is marked does what it did, and its honest ways lead from mark to mark."""

from __future__ import annotations

import ast
import random
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from verifygate.instrument.pytest_plugin import own_text

PROGRAMS = 400
CALLS = 6


class Writer:
    """Writes functions of all kinds of statements, by chance."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311

    def function(self) -> str:
        return "def test_it(say, take):\n    x = 0\n" + textwrap.indent("\n".join(self._block(3, loop=False)), "    ")

    def _block(self, depth: int, *, loop: bool) -> list[str]:
        return [line for _ in range(self._random.randint(1, 3)) for line in self._statement(depth, loop=loop)]

    def _statement(self, depth: int, *, loop: bool) -> list[str]:
        simple = [
            "x += 1",
            "say(x)",
            "assert take() < 9",
            "say(\n    x,\n    2)",
            "return x",
            "return take()",
            "raise KeyError(x)",
        ]
        simple += ["break", "continue"] if loop else []
        weights = [6, 6, 6, 3, 1, 1, 2, *([1, 1] if loop else [])]
        if depth == 0 or self._random.random() < 0.4:
            return self._random.choices(simple, weights)[0].split("\n")
        kind = self._random.choice(["if", "for", "while", "with", "try", "finally", "match"])

        def inner(loop: bool = loop) -> list[str]:
            return [f"    {line}" for line in self._block(depth - 1, loop=loop)]

        match kind:
            case "if":
                other = ["elif take() > 2:", *inner(), *(["else:", *inner()] if self._random.random() < 0.5 else [])]
                return ["if take() > 4:", *inner(), *(other if self._random.random() < 0.7 else [])]
            case "for":
                return [
                    "for y in range(take() % 3):",
                    *inner(True),
                    *(["else:", *inner()] if take_else(self._random) else []),
                ]
            case "while":
                return ["while take() > 5:", *inner(True)]
            case "with":
                return ["with contextlib.suppress(KeyError, AssertionError):", *inner()]
            case "try":
                other = ["else:", *inner()] if take_else(self._random) else []
                return ["try:", *inner(), "except (KeyError, AssertionError):", *inner(), *other]
            case "finally":
                caught = ["except KeyError:", *inner()] if take_else(self._random) else []
                return ["try:", *inner(), *caught, "finally:", *inner(False)]
        return [
            "match take() % 3:",
            "    case 0:",
            *[f"    {line}" for line in inner()],
            "    case 1:",
            "        say(x)",
        ]


def take_else(chance: random.Random) -> bool:
    return chance.random() < 0.4


def outcome(function: Any, seed: int) -> tuple[list[object], set[int]]:
    """What a function says, gives and raises, with the lines of the traceback; and the lines that a trace sees."""
    chance, said, lines = random.Random(seed), [], set()  # noqa: S311
    left = iter(range(300))

    def trace(frame: Any, event: str, _: object) -> Any:
        if frame.f_code is not function.__code__:
            return None
        lines.update([frame.f_lineno] if event == "line" else [])
        return trace

    def take() -> int:
        return chance.randint(0, 9) if next(left, None) is not None else 1

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        said.append(("gives", function(lambda *values: said.append(values), take)))
    except Exception as error:
        step, places = error.__traceback__, []
        while step is not None:
            places.append(step.tb_lineno if step.tb_frame.f_code is function.__code__ else 0)
            step = step.tb_next
        said.append((type(error), str(error).partition("\n")[0], places[1:]))
    finally:
        sys.settrace(before)
    return said, lines


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> Iterator[own_text.Texts]:
    found = own_text.Texts(("pytest.mark.",))
    monkeypatch.setattr(own_text, "texts", found)
    yield found
    assert found.altered == []


def loaded(text: str, tree: ast.Module) -> Any:
    names: dict[str, Any] = {}
    exec(compile(tree, "test_a.py", "exec", dont_inherit=True), names)  # noqa: S102 - written above
    return names["test_it"]


@pytest.mark.parametrize("part", range(4))
def test_marked_code_does_what_it_did(texts: own_text.Texts, tmp_path: Path, part: int) -> None:
    file = tmp_path / "test_a.py"
    entered = 0
    for seed in range(part, PROGRAMS, 4):
        text = f"import contextlib\n\n\n{Writer(seed).function()}\n"
        file.write_text(text)
        plain, marked = ast.parse(text), ast.parse("")
        own_text.OWN_REWRITE(plain, text.encode(), str(file), None)
        texts.rewrite(marked, text.encode(), str(file), None)
        one, other = loaded(text, plain), loaded(text, marked)
        for call in range(CALLS):
            (said, lines), (meant, seen) = outcome(other, call), outcome(one, call)
            assert said == meant, text
            assert lines >= seen, text
            entered += 1
            assert texts.altered == [], text
    assert sum(each.entered for each in texts._written) == entered
