"""Guards of key reads: whether a read is guarded, and which key was meant by one that does not exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Set
from functools import lru_cache

from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk

_EXPECTS = re.compile(r"raises|warns")
"""`pytest.raises`, `self.assertRaisesRegex`, `self.assertWarns`; names in small letters."""


def is_expected_to_fail(place: Location, nesting: EnclosingNodes) -> bool:
    """Whether a test runs the place to see it raise or warn."""
    if not place.function.module.mentions(b"aises", b"arns"):
        return False
    return any(_EXPECTS.search(last_name(each).lower()) for each in nesting.contexts(place.node, place.function))


def guarded(node: ast.Subscript, key: str, function: Function) -> bool:
    """Whether the function asks for the key first, or catches what its absence raises."""
    asked, tries = _guards_of(function)
    return key in asked or any(_within(node, each.body) for each in tries)


def lacks_written_key(node: ast.AST, mapping: str, keys: Set[str], function: Function, nesting: EnclosingNodes) -> bool:
    """Whether a place runs only where a mapping lacks one of some keys: it is not one that was written with them."""
    for test, holds in nesting.conditions(node, function):
        match test:
            case ast.Compare(
                left=ast.Constant(value=str(key)), ops=[ast.In() | ast.NotIn() as op], comparators=[whole]
            ):
                if key in keys and ast.unparse(whole) == mapping and isinstance(op, ast.In) is not holds:
                    return True
    return False


@lru_cache(maxsize=8)  # the keys of one function are asked about one after the other
def _guards_of(function: Function) -> tuple[frozenset[str], tuple[ast.Try, ...]]:
    """The keys that a function asks for anywhere, and the statements that catch what their absence raises."""
    firsts = [node.left for node in function.of_kind(ast.Compare)]
    firsts += [node.args[0] for node in function.calls if node.args and last_name(node.func) in ("get", "pop")]
    asked = {first.value for first in firsts if isinstance(first, ast.Constant) and isinstance(first.value, str)}
    return frozenset(asked), tuple(node for node in function.of_kind(ast.Try) if _catches_key_error(node))


def _catches_key_error(node: ast.Try) -> bool:
    names = {name for handler in node.handlers for name in _handled(handler)}
    return bool(names & {"KeyError", "LookupError", "Exception", "BaseException", ""})


def _handled(handler: ast.ExceptHandler) -> Iterator[str]:
    if handler.type is None:
        yield ""
    elif isinstance(handler.type, ast.Tuple):
        yield from (ast.unparse(each) for each in handler.type.elts)
    else:
        yield ast.unparse(handler.type)


def _within(node: ast.AST, body: list[ast.stmt]) -> bool:
    return any(node is each for statement in body for each in walk(statement))


def nearest(key: str, keys: Iterable[str]) -> str:
    """The question whether another key was meant, or the empty string where none is like it."""
    import difflib  # few checks find such a read

    near = difflib.get_close_matches(key, sorted(keys), n=1, cutoff=0.4)
    return f"did you mean '{near[0]}'?" if near else ""
