"""`# requirement: ID` in code: what it links, and what it does not."""

from __future__ import annotations

import pytest

from verifygate.requirements.marks import Mark, marks, named
from verifygate.requirements.symbol_digests import Symbols
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

KNOWN = {"AMP-03", "AMP-04", "speed"}


def found(text: str) -> list[Mark]:
    sources = Sources([SourceFile("train.py", text.encode())])
    return marks(sources, Symbols(sources), KNOWN)


@pytest.mark.parametrize(
    ("said", "ids"),
    [
        ("AMP-03", ("AMP-03",)),
        ("AMP-03, AMP-04", ("AMP-03", "AMP-04")),
        ("AMP-03 AMP-04", ("AMP-03", "AMP-04")),
        ("AMP-03 - before the clip", ("AMP-03",)),
        ("AMP-03 (the clip)", ("AMP-03",)),
        ("AMP-03.", ("AMP-03",)),
        ("speed AMP-03", ("speed", "AMP-03")),
        ("AMP-3O", ("AMP-3O",)),
        ("sped", ("sped",)),
        ("the loss is finite at every step", ()),
        ("torch>=2.4", ()),
        ("", ()),
    ],
)
def test_which_ids_a_comment_names(said: str, ids: tuple[str, ...]):
    """An id that is not known is still meant as one; a sentence is not."""
    assert named(said, KNOWN) == ids


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("def f():\n    return 1  # requirement: AMP-03\n", "f"),
        ("# requirement: AMP-03\ndef f():\n    return 1\n", "f"),
        ("def f():  # requirement: AMP-03\n    return 1\n", "f"),
        ("# requirement: AMP-03\n# another comment\n\n@cache\ndef f():\n    return 1\n", "f"),
        ("class A:\n    # requirement: AMP-03\n    def f(self):\n        return 1\n", "A.f"),
        ("# requirement: AMP-03\nclass A:\n    x = 1\n", "A"),
        ("def f():\n    # requirement: AMP-03\n    x = 1\n    return x\n", "f"),
        ("def f():\n    x = 1\n    # requirement: AMP-03\n\n\ndef g():\n    pass\n", "f"),
        ("def f():\n    g(\n        # requirement: AMP-03\n        1,\n    )\n", "f"),
        ("import a\n\nscaler = a.b()  # requirement: AMP-03\n", "<module>"),
    ],
)
def test_a_mark_links_the_symbol_on_its_line_or_below_it(text: str, symbol: str):
    (mark,) = found(text)
    assert mark.symbol is not None
    assert (mark.symbol.name, mark.requirement, mark.problem) == (symbol, "AMP-03", "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# requirement: AMP-03\n\n\ndef f():\n    pass\n", "2 blank lines lie between"),
        ("def f():\n    pass\n# requirement: AMP-03\n", "nothing follows it"),
        ("# requirement: AMP-03\n", "nothing follows it"),
        ("# requirement: AMP-03\ndef f(:\n", "cannot be parsed"),
    ],
)
def test_a_mark_that_stands_nowhere_near_a_symbol_says_so(text: str, why: str):
    (mark,) = found(text)
    assert mark.symbol is None
    assert why in mark.problem


def test_a_mark_may_name_several_and_text_is_no_mark():
    """Only comments mark: the same words in a string or a docstring do not."""
    text = 'def f():\n    """# requirement: AMP-03"""\n    x = "# requirement: AMP-03"  # requirement: AMP-04, AMP-99\n'
    assert [(mark.requirement, mark.line) for mark in found(text)] == [("AMP-04", 3), ("AMP-99", 3)]
