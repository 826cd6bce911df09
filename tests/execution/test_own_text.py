"""What runs of a test is held against its text: wrappers, trace functions and other code in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.execution.test_hidden_tests import check, run
from verifygate.model import Status

FAILING = "def test_step():\n    one = 1\n    assert one == 2\n    one = 2\n"
PASSING = FAILING.replace("2", "1", 1)
NEVER = "reported as passed although its own function was never called"
KEPT = "an exception that something between the test and pytest kept to itself"
SWALLOWING = """\
import functools
import types

from _pytest.python import Module

own = Module._getobj


def swallowing(function):
    def wrapper(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except BaseException:
            pass
    wrapper.__name__ = function.__name__
    return wrapper


def wrapped(self):
    module = own(self)
    for name, value in list(vars(module).items()):
        if name.startswith("test_") and isinstance(value, types.FunctionType):
            setattr(module, name, swallowing(value))
    return module


Module._getobj = wrapped
"""
TRACE = """\
import sys


def local(frame, event, argument):
    if event == "line" and frame.f_lineno == {source}:
        frame.f_lineno = {target}
    return local


def trace(frame, event, argument):
    return local if frame.f_code.co_name in ("test_step", "check") else None


sys.settrace(trace)
"""
REPLACED = """\
def pytest_collection_modifyitems(items):
    function = items[0].module.test_step
    code = function.__code__
"""
LOADED = """\
import ast

from _pytest.assertion import rewrite


def rewrite_test(path, config):
    tree = ast.parse(path.read_bytes().replace(b"== 2", b"== 1"))
    rewrite.rewrite_asserts(tree, b"", {path}, config)
    return b"", compile(tree, str(path), "exec")


rewrite._rewrite_test = rewrite_test
"""
IN_A_WITH = (
    "import contextlib\n\n\ndef test_step():\n    with contextlib.nullcontext():\n        assert 1 == 2\n    one = 2\n"
)
IN_A_LOOP = "def test_step():\n    for one in (1, 2, 3):\n        assert one == 1\n    one = 2\n"
IN_A_TRY = "def test_step():\n    try:\n        assert 1 == 2\n    finally:\n        one = 2\n"
IN_A_BRANCH = "def test_step():\n    one = 1\n    if one:\n        assert one == 2\n    one = 2\n"
IN_A_HELPER = "def check():\n    one = 1\n    assert one == 2\n    one = 2\n\n\ndef test_step():\n    check()\n"
LIES: dict[str, tuple[dict[str, str], str, str]] = {
    "a module whose tests are wrapped": ({"conftest.py": SWALLOWING}, "tests-pass", KEPT),
    "a trace that jumps": (
        {"conftest.py": TRACE.format(source=3, target=4)},
        "tests-ran",
        "tests/test_a.py::test_step (control was sent from its line 2 to line 4)",
    ),
    "a trace that jumps out of a context manager": (
        {"tests/test_a.py": IN_A_WITH, "conftest.py": TRACE.format(source=6, target=7)},
        "tests-ran",
        "control was sent from its line 5 to line 7",
    ),
    "a trace that jumps out of a loop": (
        {"tests/test_a.py": IN_A_LOOP, "conftest.py": TRACE.format(source=3, target=4)},
        "tests-ran",
        "control was sent from its line 2 to line 4",
    ),
    "a trace that jumps to a finally": (
        {"tests/test_a.py": IN_A_TRY, "conftest.py": TRACE.format(source=3, target=5)},
        "tests-ran",
        "control was sent from its line 2 to line 5",
    ),
    "a trace that jumps around a branch": (
        {"tests/test_a.py": IN_A_BRANCH, "conftest.py": TRACE.format(source=3, target=5)},
        "tests-ran",
        "control was sent from its line 2 to line 5",
    ),
    "a trace that jumps in what a test calls": (
        {"tests/test_a.py": IN_A_HELPER, "conftest.py": TRACE.format(source=3, target=4)},
        "tests-ran",
        "tests/test_a.py::check (control was sent from its line 2 to line 4)",
    ),
    "other code in the function": (
        {"conftest.py": f"{REPLACED}    function.__code__ = (lambda: None).__code__\n"},
        "tests-pass",
        NEVER,
    ),
    "other constants in the code": (
        {
            "conftest.py": f"{REPLACED}    consts = tuple(1 if each == 2 else each for each in code.co_consts)\n"
            "    function.__code__ = code.replace(co_consts=consts)\n"
        },
        "tests-ran",
        "tests/test_a.py::test_step (other code ran than what stands there)",
    ),
    "another text that is loaded": (
        {"conftest.py": LOADED.format(path="str(path)")},
        "tests-pass",
        "1 did not pass: tests/test_a.py::test_step",
    ),
    "another text that is loaded as nothing that is there": (
        {"conftest.py": LOADED.format(path="'elsewhere'")},
        "tests-ran",
        "tests/test_a.py::test_step (other code was loaded than what stands there)",
    ),
    "a run that calls nothing": (
        {"conftest.py": "from _pytest.python import Function\n\nFunction.runtest = lambda self: None\n"},
        "tests-pass",
        NEVER,
    ),
    "pytest.raises that lets all pass": (
        {
            "conftest.py": "import contextlib\n\nimport pytest\n\n"
            "pytest.raises = lambda *_, **__: contextlib.suppress(Exception)\n",
            "tests/test_a.py": "import pytest\n\n\ndef test_step():\n    with pytest.raises(KeyError):\n        {}\n",
        },
        "tests-ran",
        "every folder: `pytest.raises`",
    ),
}
"""Lie -> the project's files, the check that fails, and what it says."""


@pytest.mark.slow
@pytest.mark.parametrize("lie", LIES)
def test_what_runs_is_held_against_the_text_of_the_test(tmp_path: Path, lie: str) -> None:
    files, name, said = LIES[lie]
    result = run(tmp_path, {"tests/test_a.py": FAILING, **files})
    found = check(result, name)
    assert found.status is Status.FAIL, found.actual
    assert said in found.actual


@pytest.mark.slow
def test_a_wrapper_that_would_keep_a_failure_is_found_while_all_is_green(tmp_path: Path) -> None:
    ran = check(run(tmp_path, {"tests/test_a.py": PASSING, "conftest.py": SWALLOWING}), "tests-ran")
    assert (ran.status, "a test made to fail was not reported as failed in tests" in ran.actual) == (Status.FAIL, True)


HONEST = {
    "conftest.py": '''\
import asyncio
import functools
import inspect

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Coroutines are run, as a plugin would do it."""
    if inspect.iscoroutinefunction(inspect.unwrap(pyfuncitem.obj)):
        asyncio.run(pyfuncitem.obj())
        return True


def pytest_collection_modifyitems(items):
    for item in items:
        if item.name == "test_is_wrapped_by_a_hook":
            item.obj = functools.wraps(item.obj)(functools.partial(item.obj))
''',
    "tests/test_a.py": '''\
"""A text with a doctest.

>>> 1 + 1
2
"""

from __future__ import annotations

import functools
import sys
import unittest
from unittest import mock

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st


def expects(error):
    def decorated(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with pytest.raises(error):
                function(*args, **kwargs)
        return wrapper
    return decorated


def again(function):
    @functools.wraps(function)
    def wrapper():
        for _ in range(3):
            try:
                return function()
            except AssertionError:
                pass
        raise RuntimeError
    return wrapper


@pytest.fixture
def opened():
    yield 1
    assert True


def holds(value):
    assert value
    return value


def test_coroutines_do_not_run_by_themselves():
    assert holds(1)


async def test_of_a_coroutine():
    assert holds(1)


@expects(AssertionError)
def test_expects_a_failure():
    assert 0


def patched_only_where_there_is_a_device(function):
    return lambda: None


@patched_only_where_there_is_a_device
def test_needs_a_device():
    assert 0


counts = []


@again
def test_is_tried_again():
    counts.append(1)
    assert len(counts) > 1


@given(st.integers())
@settings(max_examples=5, database=None, deadline=None)
def test_of_many_examples(number):
    assume(number != 0)
    assert number


@pytest.mark.parametrize("number", [1, 2])
def test_of_cases(number, opened):
    assert number * opened
    with pytest.raises(AssertionError):
        holds(0)


@mock.patch("os.getcwd", return_value="here")
def test_with_a_patch(patched):
    import os
    assert os.getcwd() == "here"


def test_says_only_what_it_is_about():
    """Nothing else stands here."""


def test_is_wrapped_by_a_hook():
    assert 1


def test_traces_itself():
    seen = []

    def trace(frame, event, argument):
        seen.append(event)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        holds(1)
    finally:
        sys.settrace(before)
    assert "line" in seen


def test_calls_another_one_that_fails():
    with pytest.raises(AssertionError):
        failing()
    for number in range(3):
        if number == 1:
            break
        assert number == 0


def failing():
    assert 0


def test_is_bound_again():
    assert 0


test_is_bound_again = expects(AssertionError)(test_is_bound_again)


def test_is_put_aside():
    assert 1
    pytest.skip("here")


@pytest.mark.xfail
def test_is_known_to_fail():
    assert 0


class Common:
    def test_is_inherited(self):
        assert self


class TestOfAClass(Common):
    def setup_method(self):
        self.one = 1

    def test_one(self):
        assert self.one

    @staticmethod
    def test_static():
        assert 1


class OfUnittest(unittest.TestCase):
    def setUp(self):
        self.one = 1

    def test_subtests(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertEqual(self.one, 1)

    def test_put_aside(self):
        self.skipTest("here")

    @unittest.expectedFailure
    def test_known_to_fail(self):
        self.assertEqual(1, 2)

    @unittest.skip("here")
    def test_put_aside_by_a_mark(self):
        self.fail()
''',
    "tests/test_plain.py": '"""PYTEST_DONT_REWRITE"""\n\n\ndef test_plain():\n    assert 1\n',
    "elsewhere/test_linked.py": "def test_linked():\n    assert 1\n",
    "pytest.ini": "[pytest]\naddopts = --doctest-modules\n",
}


@pytest.mark.slow
def test_honest_tests_are_not_suspected(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_link.py").symlink_to("../elsewhere/test_linked.py")
    result = run(tmp_path, HONEST, coverage=True)
    for name in ("tests-ran", "tests-pass"):
        assert check(result, name).status is Status.PASS, check(result, name).actual
    assert not check(result).required
    assert "21 passed, 3 skipped, 2 xfailed" in check(result, "tests-ran").actual
