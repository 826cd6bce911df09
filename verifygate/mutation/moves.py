"""Every way in which the operators can break a set of sources, one at a time."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from verifygate.model import Construct
from verifygate.mutation.editable_source import Code
from verifygate.mutation.operators import OPERATORS, Operator, Site
from verifygate.sources.file import SourceFile, SourceUnreadableError
from verifygate.sources.tree import Sources


@dataclass(frozen=True)
class Move:
    """One file, broken in one way."""

    operator: Operator
    path: str
    line: int
    """The line that the move is about, in the unbroken file."""
    symbol: str
    data: bytes
    """The whole broken file."""
    same_code: bool
    """Whether Python makes the same code of it: then nothing was broken."""

    def sources(self, sources: Sources) -> Sources:
        """All files, with this one broken."""
        broken = SourceFile(self.path, self.data)
        return Sources(
            [broken if file.path == self.path else file for file in sources], sources.unreadable, sources.configuration
        )


def mutants_of(sources: Sources, constructs: Sequence[Construct]) -> list[Move]:
    """All moves, in order of operator and place. Tests are left alone: they are a witness."""
    found: dict[tuple[str, bytes], Move] = {}
    for file in sources:
        own = [each for each in constructs if each.path == file.path]
        if file.is_test or not (own or file.mentions_amp):
            continue
        try:
            code = Code(file)
        except (SyntaxError, ValueError, SourceUnreadableError):
            continue
        site = Site(code, own, tuple(constructs))
        for operator in OPERATORS:
            for move in _moves(operator, site, file):
                found.setdefault((move.path, move.data), move)
    order = {operator.name: number for number, operator in enumerate(OPERATORS)}
    return sorted(found.values(), key=lambda move: (order[move.operator.name], move.path, move.line))


def _moves(operator: Operator, site: Site, file: SourceFile) -> Iterator[Move]:
    whole = _code_of(file.text, file.path)
    for node, edits in operator.apply(site):
        text = site.code.edited(edits)
        broken = _code_of(text, file.path)
        if broken is not None:
            symbol = site.code.symbol(node)
            yield Move(operator, file.path, node.lineno, symbol, file.encoded(text), broken == whole)


def _code_of(text: str, path: str) -> object:
    """The tree of a text, without its lines; None where it is no Python. Equal trees are equal programs."""
    try:
        return ast.dump(ast.parse(text, path))
    except (SyntaxError, ValueError):
        return None
