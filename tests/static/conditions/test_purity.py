"""Functions that only compute a predicate: what they come to, and what they read."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from verifygate.static.analysis import Analysis
from verifygate.static.conditions.purity import answer, gives_the_same, question, read_by


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("isinstance(x, A)", True),
        ("torch.cuda.is_available()", True),
        ("dist.get_rank()", True),
        ("name.startswith('a')", True),
        ("os.environ.get('AMP')", True),
        ("options.get('amp', False)", True),
        ("queue.get()", False),
        ("table.get(key)", False),
        ("random()", False),
        ("loss.item()", False),
        ("f()", False),
    ],
)
def test_a_call_gives_the_same_each_time(text: str, same: bool) -> None:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert gives_the_same(call) is same


PROGRAM = """
class Trainer:
    def plain(self):
        "Says so."
        return self.args.amp

    def longer(self):
        chosen = self.args.amp
        return chosen and self.cuda

    def other(self, given):
        return given.amp

    @decorated
    def wrapped(self):
        return self.args.amp

    @staticmethod
    def static(given):
        return given.amp

    async def waits(self):
        return self.args.amp

    def run(self, args):
        pass
        {0}
"""


def asked(text: str, analysed: Callable[[str], Analysis]) -> tuple[Analysis, object]:
    analysis = analysed(PROGRAM.format(text))
    function = analysis.modules[0].functions["Trainer.run"]
    return analysis, question(function.calls[0], analysis.evaluator.root_frame(function), analysis.roles)


@pytest.mark.parametrize(
    ("text", "pure", "result"),
    [
        ("self.plain()", True, "self.args.amp"),
        ("self.longer()", True, None),  # more than one expression
        ("self.other(args)", True, "given.amp"),
        ("self.static(args)", True, "given.amp"),
        ("self.wrapped()", False, None),
        ("self.waits()", False, None),
        ("self.nowhere()", False, None),
        ("print()", False, None),
    ],
)
def test_what_a_predicate_comes_to(
    text: str, pure: bool, result: str | None, analysed: Callable[[str], Analysis]
) -> None:
    _, frame = asked(text, analysed)
    assert (frame is not None) is pure
    found = answer(frame) if frame is not None else None
    assert (ast.unparse(found) if found is not None else None) == result


@pytest.mark.parametrize(
    ("text", "read", "unread"),
    [("self.plain()", ".args.amp", "cuda"), ("self.longer()", ".cuda", "given")],
)
def test_what_a_predicate_reads(text: str, read: str, unread: str, analysed: Callable[[str], Analysis]) -> None:
    analysis, frame = asked(text, analysed)
    paths = set(map(str, read_by(frame, analysis.roles.path)))
    assert any(path.endswith(read) for path in paths)
    assert not any(unread in path for path in paths)
