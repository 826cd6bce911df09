"""Which asserts of a test count as ones that can fail."""

from __future__ import annotations

import ast
import textwrap

import pytest

from verifygate.execution.asserts_in_source import asserts_that_can_fail

IDLE = {
    "after a return": "return\nassert step == 2",
    "after a skip": "pytest.skip('needs a GPU')\nassert step == 2",
    "after a return in a block": "if step:\n    return\n    assert step == 2",
    "never reached": "if False:\n    assert step == 2",
    "not reached otherwise": "if True:\n    pass\nelse:\n    assert step == 2",
    "a loop that never runs": "while 0:\n    assert step == 2",
    "caught and forgotten": "try:\n    assert step == 2\nexcept AssertionError:\n    pass",
    "caught with all else": "try:\n    assert step == 2\nexcept (ValueError, Exception):\n    print(step)",
    "caught by everything": "try:\n    assert step == 2\nexcept:\n    pass",
    "suppressed": "with contextlib.suppress(AssertionError):\n    assert step == 2",
    "expected to fail": "with pytest.raises(AssertionError):\n    assert step == 2",
    "a constant": "assert True\nassert 1, 'text'",
    "or a constant": "assert step == 2 or True",
    "a tuple": "assert (step == 2, 'must be two')",
    "the same twice": "assert step == step",
}
LIVE = {
    "plain": "assert step == 2",
    "under a condition": "if step:\n    assert step == 2",
    "before a return": "assert step == 2\nreturn",
    "behind a return of another block": "if step:\n    return\nassert step == 2",
    "raised again": "try:\n    assert step == 2\nexcept AssertionError:\n    print(step)\n    raise",
    "another class is caught": "try:\n    assert step == 2\nexcept ValueError:\n    pass",
    "another class is suppressed": "with suppress(KeyError):\n    assert step == 2",
    "code that asserts must fail": "with pytest.raises(AssertionError):\n    train.step(2)",
    "a method": "self.assertEqual(step, 2)",
    "a helper": "torch.testing.assert_close(step, two)",
    "or another condition": "assert step == 2 or slow",
    "in a loop": "for step in steps:\n    assert step == 2",
}


def count(body: str) -> int:
    (test,) = ast.parse(f"def test_step(self, step):\n{textwrap.indent(body, '    ')}").body
    assert isinstance(test, ast.FunctionDef)
    return asserts_that_can_fail(test)


@pytest.mark.parametrize("way", IDLE)
def test_an_assert_that_cannot_fail_is_none(way: str) -> None:
    assert count(IDLE[way]) == 0


@pytest.mark.parametrize("way", LIVE)
def test_one_that_can_is_one(way: str) -> None:
    assert count(LIVE[way]) == 1


def test_what_is_caught_and_told_by_pytest_counts_with_the_telling() -> None:
    assert count("try:\n    assert step == 2\nexcept Exception as error:\n    pytest.fail(str(error))") == 2
