"""What tests of the analysis's own modules share: a program out of source text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.analysis import Analysis
from verifygate.static.symbols.program import Program

Analysed = Callable[..., Analysis]


@pytest.fixture
def analysed() -> Analysed:
    """Source text -> the analysis of it: of `train.py`, or of the files given by path."""

    def build(text: str = "", **files: str) -> Analysis:
        named = {"train.py": text} if text else {f"{name}.py": content for name, content in files.items()}
        sources = Sources([SourceFile(path, textwrap.dedent(content).encode()) for path, content in named.items()])
        return Analysis(Program(sources, dict.fromkeys(named)))

    return build
