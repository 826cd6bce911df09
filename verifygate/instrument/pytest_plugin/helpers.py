"""See whether what tests compare with still tells apart: `assert_close`, `approx`, `allclose`, `raises`.

A conftest can put a function in the place of one of these that lets everything pass. So each is asked about 0 and 1,
or about a block that raises nothing and one that raises something else, before the first test that could find it
changed, and again whenever another object stands in its place.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

Question = Callable[[Any, Any], Any]


def _raises(helper: Any, _: Any) -> bool:
    helper(0.0, 1.0)
    return True


def _of_case(method: Any, case: Any) -> bool:
    method(case(), 0, 1)
    return True


def _of_truth(method: Any, case: Any) -> bool:
    method(case(), False)
    return True


def _of_block(helper: Any, _: Any) -> bool:
    try:
        with helper(ZeroDivisionError):
            pass
    except BaseException:
        with helper(ZeroDivisionError):
            raise KeyError from None
    return True


def _of_case_block(method: Any, case: Any) -> bool:
    return _of_block(functools.partial(method, case()), None)


def _equal(helper: Any, _: Any) -> bool:
    return bool(helper(0.0) == 1.0)


def _of_tensors(helper: Any, torch: Any) -> bool:
    return bool(helper(torch.zeros(1), torch.ones(1)))


def _of_numbers(helper: Any, _: Any) -> bool:
    return bool(helper(0.0, 1.0))


QUESTIONS: dict[str, dict[str, Question]] = {
    "pytest": {"approx": _equal, "raises": _of_block},
    "math": {"isclose": _of_numbers},
    "unittest": {
        "TestCase.assertEqual": _of_case,
        "TestCase.assertAlmostEqual": _of_case,
        "TestCase.assertTrue": _of_truth,
        "TestCase.assertRaises": _of_case_block,
    },
    "numpy": {"allclose": _of_numbers, "array_equal": _of_numbers},
    "numpy.testing": {"assert_allclose": _raises, "assert_array_equal": _raises, "assert_equal": _raises},
    "torch": {"allclose": _of_tensors, "equal": _of_tensors},
    "torch.testing": {"assert_close": _raises},
}
"""Module -> what is asked about in it -> the question: true where it lets pass what it is to fail."""


class Helpers:
    """The helpers that were asked, so that each object is asked once."""

    def __init__(self) -> None:
        self._asked: dict[str, object] = {}

    def dull(self) -> Iterator[str]:
        """Names of those that let such things pass, of the modules that are loaded; each object once."""
        for name, questions in QUESTIONS.items():
            module = sys.modules.get(name)
            if not isinstance(module, types.ModuleType) or getattr(module, "__file__", None) is None:
                continue  # not loaded, or a stand-in of the tests
            for path, question in questions.items():
                owner: Any = module
                *above, last = path.split(".")
                for each in above:
                    owner = getattr(owner, each, None)
                helper = getattr(owner, last, None)
                if helper is None or self._asked.get(f"{name}.{path}") is helper:
                    continue
                self._asked[f"{name}.{path}"] = helper
                if _lets_pass(question, helper, owner):
                    yield f"{name}.{path}"


def _lets_pass(question: Question, helper: object, owner: object) -> bool:
    try:
        return bool(question(helper, owner))
    except BaseException:  # whatever it raises, it did not let them pass
        return False
