"""See a test's own function called, and what it raises, from so near that no hook can stand in between.

A conftest can wrap `pytest_runtest_call`, answer `pytest_pyfunc_call` itself, put another function in a test's place
or rewrite its report, and do so for one test only, where no canary would notice. So each test's function is wrapped
when pytest meets it, inside whatever a hook puts around it later; what a report then says is compared with what
really happened. Code that looks for this wrapper can take it off again: it runs in the same process, and only a
process of its own would be a border (verifygate/docs/test-runs.md).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import MethodType
from typing import Any

import pytest
from _pytest.unittest import TestCaseFunction

HOOKS = (
    "pytest_itemcollected",
    "pytest_collection_modifyitems",
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtest_call",
    "pytest_runtest_teardown",
    "pytest_pyfunc_call",
    "pytest_runtest_makereport",
    "pytest_runtest_logreport",
)
"""Where a conftest can come between a test and its report."""
Describe = Callable[[BaseException], dict[str, object]]


@dataclass
class Seen:
    """One attempt at a test."""

    called: bool = False
    """Whether its own function was entered."""
    raised: dict[str, object] | None = None
    """The first failure that came out of it, described."""


class Calls:
    """Remembers, for each test and phase, what was seen from inside."""

    def __init__(self, describe: Describe) -> None:
        self._describe = describe
        self._seen: dict[tuple[str, str], Seen] = {}
        self._own: dict[str, object] = {}
        """Id of each watched test -> its function, before it was wrapped."""
        self._running = ""

    def watch(self, item: pytest.Item) -> None:
        """Wrap what the test is going to run. A test of a kind that cannot be wrapped is never suspected."""
        try:
            self._watch_phase(item, "setup", "setup")
            if not isinstance(item, pytest.Function):
                self._watch_phase(item, "runtest", "call")
                self._own[item.nodeid] = item.runtest
                return
            self._own[item.nodeid] = own = _defined(item)
            if _plain(item.obj) is own:
                self._wrap(item)
            if isinstance(item, TestCaseFunction):
                self._watch_unittest(item)
        except Exception:  # an item that a plugin built in its own way
            self._own.pop(item.nodeid, None)

    def watch_teardown(self, session: pytest.Session) -> None:
        """Wrap what runs the ends of fixtures; where this pytest keeps it elsewhere, only its reports are seen."""
        state = getattr(session, "_setupstate", None)
        exact = getattr(state, "teardown_exact", None)
        if exact is None:
            return

        @functools.wraps(exact)
        def watched(*arguments: Any, **options: Any) -> Any:
            try:
                return exact(*arguments, **options)
            except BaseException as error:
                self._raised(self._running, "teardown", error)
                raise

        setattr(state, "teardown_exact", watched)  # noqa: B010 - no type of pytest's has it

    def start(self, item: pytest.Item) -> None:
        """The test is on."""
        self._running = item.nodeid

    def begin(self, item: pytest.Item) -> None:
        """A new attempt at the test's call. After a teardown, pytest has the unwrapped function again."""
        self._seen[item.nodeid, "call"] = Seen()
        if isinstance(item, pytest.Function) and item.nodeid in self._own:
            try:
                if _plain(item.obj) is self._own[item.nodeid]:
                    self._wrap(item)
                if isinstance(item, TestCaseFunction) and inspect.iscoroutinefunction(item.obj):
                    setattr(item.instance, item.name, item.obj)  # pytest itself does this for all but these
            except Exception:
                self._own.pop(item.nodeid, None)

    def take(self, test: str, when: str) -> dict[str, object]:
        """What the report of this phase must be held against; asking forgets it."""
        seen = self._seen.pop((test, when), None)
        told: dict[str, object] = dict(seen.raised) if seen and seen.raised else {}
        if when == "call" and test in self._own:
            told["called"] = seen is not None and seen.called
        return told

    def forget(self) -> None:
        """Forget what was seen of tests that nobody reports on."""
        self._seen.clear()

    def _wrap(self, item: pytest.Function) -> None:
        function = item.obj
        wrapped = self._witnessed(_plain(function), item.nodeid, "call")
        owner = getattr(function, "__self__", None) if inspect.ismethod(function) else None
        item.obj = wrapped if owner is None else MethodType(wrapped, owner)

    def _watch_phase(self, item: pytest.Item, method: str, when: str) -> None:
        setattr(item, method, self._witnessed(getattr(item, method), item.nodeid, when))

    def _watch_unittest(self, item: TestCaseFunction) -> None:
        """unittest catches what a test raises and hands it to its result, which is pytest's item."""
        for name in ("addFailure", "addError", "addSubTest"):
            if hasattr(item, name):
                setattr(item, name, self._handed(getattr(item, name), item.nodeid))

    def _handed(self, method: Callable[..., Any], test: str) -> Callable[..., Any]:
        @functools.wraps(method)
        def handed(*arguments: Any, **options: Any) -> Any:
            error = arguments[-1][1] if arguments and isinstance(arguments[-1], tuple) else None
            if isinstance(error, BaseException):
                self._raised(test, "call", error)
            return method(*arguments, **options)

        return handed

    def _witnessed(self, function: Callable[..., Any], test: str, when: str) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def witnessed_async(*arguments: Any, **options: Any) -> Any:
                __tracebackhide__ = True
                self._enter(test, when)
                try:
                    return await function(*arguments, **options)
                except BaseException as error:
                    self._raised(test, when, error)
                    raise

            return witnessed_async

        @functools.wraps(function)
        def witnessed(*arguments: Any, **options: Any) -> Any:
            __tracebackhide__ = True
            self._enter(test, when)
            try:
                return function(*arguments, **options)
            except BaseException as error:
                self._raised(test, when, error)
                raise

        return witnessed

    def _enter(self, test: str, when: str) -> None:
        self._seen.setdefault((test, when), Seen()).called = True

    def _raised(self, test: str, when: str, error: BaseException) -> None:
        described = self._describe(error)
        seen = self._seen.setdefault((test, when), Seen())
        if described["failure"] and seen.raised is None:
            seen.raised = described


def between(item: pytest.Item) -> list[str]:
    """The conftests, or else the plugins that are not pytest's own, with a hook between this test and its report."""
    names: dict[str, None] = {}
    for hook in HOOKS:
        for implementation in getattr(item.ihook, hook).get_hookimpls():
            module = str(getattr(implementation.function, "__module__", ""))
            if not module.startswith(("_pytest.", __name__.partition(".")[0])):
                names[str(implementation.plugin_name)] = None
    return [name for name in names if name.endswith("conftest.py")] or list(names)


def _defined(item: pytest.Function) -> object:
    """The function that stands in the test's module or class under its name; the item's own where none does."""
    owner = getattr(item.parent, "obj", None)
    found = getattr(owner, getattr(item, "originalname", None) or item.name, None)
    return _plain(found) if inspect.isfunction(_plain(found)) else _plain(item.obj)


def _plain(function: Any) -> Any:
    return getattr(function, "__func__", function)
