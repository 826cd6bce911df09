"""A pytest plugin that tells the gate, line by line, what the project's test run really does.

It runs inside the project's interpreter, loaded with `-p` before any conftest. Each line it writes is a digest, a space
and one JSON object, written at once and unbuffered, so a run that dies has still told everything up to its death. The
digest is that of all lines so far, keyed with a secret of this run: a line that is added, changed or taken out by
anybody else shows. The gate reads this file and never pytest's own output, which anybody can print.

PYTEST_DONT_REWRITE: it is loaded before pytest rewrites anything.
"""

from __future__ import annotations

import builtins
import faulthandler
import json
import os
import signal
import sys
import threading
import time
import unittest
from collections.abc import Iterator
from hashlib import blake2b
from time import monotonic as clock  # bound here, before any code of the project can put another in its place
from typing import TYPE_CHECKING, Any

import pytest

from ..raised import by_statement, causes, statement
from . import asserts, canaries, own_text
from .calls import Calls, between
from .helpers import Helpers

if TYPE_CHECKING:
    import coverage

PUT_ASIDE = (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest)
"""What puts a test aside, bound here before any code of the project can put failures among them."""
TRACE_ENTRIES = 60
ROOT = os.getcwd()  # noqa: PTH109 - the project's folder; bound here, before a test can leave it
MESSAGE_CHARACTERS = 2000


class Stream:
    """The open file that events go to. A process forked by a test inherits it, and stays silent."""

    def __init__(self, path: str, key: str) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._running = blake2b(key=bytes.fromhex(key), digest_size=16)
        self._owner = os.getpid()

    def tell(self, event: str, **fields: object) -> None:
        """Write one event, whole and at once."""
        if os.getpid() == self._owner:
            line = f"{json.dumps({'event': event, **fields}, default=str)}\n".encode("ascii")
            self._running.update(line)
            os.write(self._descriptor, self._running.hexdigest().encode("ascii") + b" " + line)


class Attribution:
    """Line coverage of the audited AMP files, with the running test as the context of every executed line."""

    def __init__(self, files: list[str], data: str) -> None:
        self.failure = ""
        self._coverage: coverage.Coverage | None = None
        self._tracer: object = None
        try:
            self._start(files, data)
        except ImportError:
            self.failure = "coverage is not installed in the project's interpreter"
        except Exception as error:  # whatever coverage trips over must not cost the test run
            self.failure = f"coverage could not start: {type(error).__name__}"

    def _start(self, files: list[str], data: str) -> None:
        import coverage

        before = os.environ.get("COVERAGE_CORE")
        os.environ["COVERAGE_CORE"] = "ctrace"  # the sys.monitoring core cannot switch contexts
        try:
            self._coverage = coverage.Coverage(data_file=data, include=files, config_file=False, messages=False)
            self._coverage.set_option("run:disable_warnings", ["no-data-collected", "trace-changed", "include-ignored"])
            self._coverage.start()
            self._tracer = sys.gettrace()
        finally:
            os.environ.pop("COVERAGE_CORE")
            if before is not None:
                os.environ["COVERAGE_CORE"] = before

    def switch(self, test: str) -> None:
        """Book the lines that follow to `test`; to nobody where it is empty."""
        if sys.gettrace() is not self._tracer and not self.failure:
            self.failure = (
                "the tests trace themselves (a debugger, or a coverage of their own), so the gate's trace ended"
            )
        if self._coverage is not None and not self.failure:
            try:
                self._coverage.switch_context(test)
            except Exception as error:
                self.failure = f"coverage could not follow the tests: {type(error).__name__}"

    def save(self) -> None:
        """Stop, and write the data file."""
        if self._coverage is None:
            return
        try:
            self._coverage.stop()
            self._coverage.save()
        except Exception as error:
            self.failure = f"coverage could not be saved: {type(error).__name__}"


class Clock:
    """Writes down where every thread stands when a time limit ends the run: the whole run's, or that of one test.

    faulthandler does so without the help of the interpreter, which may hang in a library.
    """

    def __init__(self, stacks: str, test_seconds: float | None) -> None:
        self._file = open(stacks, "wb", buffering=0)  # noqa: SIM115, PTH123 - stays open as long as the process
        self._test_seconds = test_seconds
        if hasattr(faulthandler, "register"):
            faulthandler.register(signal.SIGTERM, self._file, all_threads=True, chain=True)

    def start(self) -> None:
        """A test begins."""
        if self._test_seconds is not None:
            faulthandler.dump_traceback_later(self._test_seconds, file=self._file, exit=True)

    def stop(self) -> None:
        """It has ended."""
        if self._test_seconds is not None:
            faulthandler.cancel_dump_traceback_later()


class Witness:
    """The hooks that follow the run. It is registered after the first conftests, so its wrappers lie around theirs."""

    def __init__(self, stream: Stream, attribution: Attribution | None, given: dict[str, Any]) -> None:
        self.stream = stream
        self._linger_seconds = float(given["linger_seconds"])
        self._only: list[str] = given["only"]
        self._clock = Clock(given["stacks"], given["test_seconds"])
        self._apart: str = given["apart"]
        self._attribution = attribution
        self._raised: dict[tuple[str, str], dict[str, object]] = {}
        self._calls = Calls(_describe_value)
        self._texts = own_text.install(given["harmless"])
        self._helpers = Helpers()
        self._between: list[str] = []
        self._of_text: dict[str, object] = {}
        self._marked = True
        self._swapped = False
        self._found: list[str] = []
        """Ids in the order in which pytest met the tests, before any hook could choose among them."""
        self._deselected: set[str] = set()

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        if isinstance(collector, pytest.File):
            self.stream.tell("collecting", id=collector.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome == "skipped":
            reason, path, line = _skip(report.longrepr)
            self.stream.tell("not-collected", id=report.nodeid, outcome="skipped", message=reason, trace=[[path, line]])
        elif report.failed:
            raised = self._raised.pop((report.nodeid, "collect"), None) or _from_report(report)
            self.stream.tell("not-collected", id=report.nodeid, outcome="error", **raised)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        outcome: Any = yield
        call = getattr(outcome.get_result(), "call", None)
        if call is not None and call.excinfo is not None:
            self._raised[(collector.nodeid, "collect")] = _describe(call.excinfo)

    @pytest.hookimpl(tryfirst=True)
    def pytest_itemcollected(self, item: pytest.Item) -> None:
        self._found.append(item.nodeid)
        self._calls.watch(item)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._deselected.update(item.nodeid for item in items)
        self.stream.tell("deselected", ids=[item.nodeid for item in items])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._only:
            wanted, above = frozenset(self._only), tuple(f"{name}{sign}" for name in self._only for sign in ("::", "["))
            items[:] = [item for item in items if item.nodeid in wanted or item.nodeid.startswith(above)]
            kept = {item.nodeid for item in items}
            self._found = [found for found in self._found if found in kept]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Tell what is left, and first what a hook took out of the list without a word."""
        kept = {item.nodeid for item in session.items} | self._deselected
        if removed := [found for found in dict.fromkeys(self._found) if found not in kept]:
            self.stream.tell("deselected", ids=removed)
        self.stream.tell("collected", items=[_item(item) for item in session.items])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Send canaries into every folder of tests, before the first test; say where one came back alive."""
        self._calls.watch_teardown(session)
        if session.config.option.collectonly or session.testsfailed:
            return
        for folder in canaries.alive(session, self._texts):
            self.stream.tell("canary", folder=str(folder))
        self._raised.clear()
        self._calls.forget()
        for item in session.items:
            self._texts.look_at(item)
        if blunted := [item.nodeid for item in session.items if asserts.lost(item)]:
            self.stream.tell("blunted", ids=blunted)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.stream.tell("start", id=item.nodeid, at=clock())
        self._calls.start(item)
        if self._attribution is not None:
            self._attribution.switch(item.nodeid)
        self._clock.start()
        yield
        self._clock.stop()
        while self._texts.altered:
            path, name, why = self._texts.altered.pop()
            self.stream.tell("altered", path=path, name=name, why=why)
        if self._attribution is not None:
            self._attribution.switch("")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        for name in self._helpers.dull():
            self.stream.tell("canary", folder=f"every folder: `{name}` lets pass what it is to fail")
        self._calls.begin(item)
        self._texts.begin(item)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
        raised = call.excinfo  # the truth, before another hook can bend the report
        self._marked = _is_marked(item)
        if builtins.AssertionError is not asserts.REAL and not self._swapped:
            self._swapped = True
            self.stream.tell("canary", folder="every folder: `AssertionError` is another class")
        yield
        raised = raised or call.excinfo  # unittest's failures are only put here by pytest's own hook
        self._between = between(item)
        self._of_text = self._texts.told_of(item) if call.when == "call" else {}
        if raised is not None:
            self._raised[(item.nodeid, call.when)] = _describe(raised)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "context") and not report.failed:
            return  # a subtest that is well or skipped says nothing about its test
        when = str(report.when)
        told = self._calls.take(report.nodeid, when) | self._raised.pop((report.nodeid, when), {})
        if report.passed and not hasattr(report, "wasxfail") and not told.get("failure"):
            told |= self._of_text
        self._of_text = {}
        if report.passed and (told.get("failure") or told.get("called") is False):
            told["between"] = self._between
        if getattr(report, "wasxfail", None) is not None:
            told["marked"] = self._marked
        if report.skipped and not told.get("failure"):
            reason, path, line = _skip(report.longrepr)
            told |= {"message": reason, "trace": [[path, line]]}
        elif report.failed and "message" not in told:
            told |= _from_report(report)
        self.stream.tell(
            "phase",
            id=report.nodeid,
            when=when,
            outcome=report.outcome,
            xfail=getattr(report, "wasxfail", None),
            seconds=report.duration,
            **told,
        )

    def pytest_warning_recorded(self, warning_message: Any) -> None:
        self.stream.tell(
            "warning",
            category=warning_message.category.__name__,
            message=str(warning_message.message)[:MESSAGE_CHARACTERS],
            path=warning_message.filename,
            line=warning_message.lineno,
        )

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self.stream.tell("interrupted", kind=excinfo.typename, message=str(excinfo.value)[:MESSAGE_CHARACTERS])

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self.stream.tell("internal-error", **_describe(excinfo))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        yield
        if self._attribution is not None:
            self._attribution.save()
            self.stream.tell("coverage", failure=self._attribution.failure)
        if self._apart:
            self.stream.tell("strangers", paths=_strangers(self._apart))
        stopped = getattr(session, "shouldfail", "") or getattr(session, "shouldstop", "")
        self.stream.tell("finish", status=int(session.exitstatus), stopped=str(stopped or ""))
        self._watch(int(session.exitstatus))

    def _watch(self, status: int) -> None:
        """End the process if a thread that nobody joins keeps it alive long after its last test."""

        def end() -> None:
            time.sleep(self._linger_seconds)
            self.stream.tell("lingered")
            os._exit(status)

        threading.Thread(target=end, name="verifygate-linger", daemon=True).start()


def _strangers(folder: str) -> list[str]:
    """Files of loaded modules in a folder that this run is to have nothing of, but for those of an environment."""
    files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
    inside = (file for file in files if isinstance(file, str) and file.startswith(f"{folder}{os.sep}"))
    return sorted(file for file in inside if f"{os.sep}site-packages{os.sep}" not in file)[:3]


def _item(item: pytest.Item) -> dict[str, object]:
    """What is known of a test before it runs. `location` counts lines from 0."""
    marks = [argument for mark in item.iter_markers("requirement") for argument in mark.args]
    own = os.path.realpath(item.reportinfo()[0]) == os.path.realpath(item.path)  # else an imported function's line
    line = item.location[1] if own else None
    return {"id": item.nodeid, "path": str(item.path), "line": 0 if line is None else line + 1, "requirements": marks}


def _is_marked(item: pytest.Item) -> bool:
    """Whether something marks a test as one that is expected to fail."""
    owners = (getattr(item, "obj", None), getattr(item, "cls", None))
    of_unittest = any(getattr(owner, "__unittest_expecting_failure__", False) for owner in owners)
    return of_unittest or any(item.iter_markers("xfail"))


def _describe(excinfo: pytest.ExceptionInfo[BaseException]) -> dict[str, object]:
    """The error in one line, every place it came through, and whether it is a failure at all."""
    return _describe_value(excinfo.value)


def _describe_value(value: BaseException) -> dict[str, object]:
    failure = not isinstance(value, PUT_ASIDE)
    if isinstance(value, pytest.Collector.CollectError) and value.__cause__ is not None:
        value = value.__cause__  # pytest wraps what a module raised while it was imported
    by = {"error": type(value).__name__, "by_statement": by_statement(value), "causes": causes(value)}
    return {"failure": failure, "message": _message(value), "trace": _trace(value), **by}


def _message(value: BaseException) -> str:
    try:
        text = str(value).strip()
    except Exception:  # a __str__ that raises is the project's business
        text = "(its text cannot be shown)"
    first = text.splitlines()[0] if text else ""
    kind = type(value).__name__
    if kind == "Failed" and isinstance(value, pytest.fail.Exception):
        return first[:MESSAGE_CHARACTERS]
    if not first and (told := statement(value, ROOT)):
        first = f"`{told['text']}`" + "".join(f", {each}" for each in told["values"])
    return f"{kind}: {first}"[:MESSAGE_CHARACTERS] if first else kind


def _trace(value: BaseException) -> list[list[object]]:
    """Path and line of the innermost frames of the traceback, outermost first."""
    entries: list[list[object]] = []
    step = value.__traceback__
    while step is not None:
        entries.append([step.tb_frame.f_code.co_filename, step.tb_lineno])
        step = step.tb_next
    if isinstance(value, SyntaxError) and value.filename:
        entries.append([value.filename, value.lineno or 0])
    return entries[-TRACE_ENTRIES:]


def _from_report(report: pytest.TestReport | pytest.CollectReport) -> dict[str, object]:
    """The failure as the report tells it, where no exception was seen: strict xpass, subtests, other plugins."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return {"message": str(crash.message).splitlines()[0], "trace": [[str(crash.path), crash.lineno]]}
    lines = [line for line in str(report.longrepr or "failed").splitlines() if line.strip()]
    return {"message": lines[-1][:MESSAGE_CHARACTERS], "trace": []}


def _skip(longrepr: object) -> tuple[str, str, int]:
    """Reason, path and line of a skip."""
    if isinstance(longrepr, tuple) and len(longrepr) == 3:
        path, line, reason = longrepr
        return str(reason).removeprefix("Skipped: ")[:MESSAGE_CHARACTERS], str(path), int(line or 0)
    return "", "", 0


def begin(given: dict[str, Any]) -> None:
    """Open the stream and watch, as the gate asks. The key stays in no object that Python can show."""
    global _witness
    stream = Stream(given["stream"], given.pop("key"))
    stream.tell("loaded", pytest=pytest.__version__)
    attribution = Attribution(given["files"], given["data"]) if given["files"] else None
    _witness = Witness(stream, attribution, given)


def _tell_conftest(stream: Stream, error: BaseException) -> None:
    """A conftest at the start that cannot be imported ends pytest before there is a session to tell of it."""
    told = _describe_value(getattr(error, "cause", None) or error)
    stream.tell("not-collected", id=str(getattr(error, "path", "conftest.py")), outcome="error", **told)


_witness: Witness | None = None


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests() -> Iterator[None]:
    """Watch the first conftests load."""
    outcome: Any = yield
    if _witness is not None and outcome.excinfo is not None:
        _tell_conftest(_witness.stream, outcome.excinfo[1])


def pytest_configure(config: pytest.Config) -> None:
    """Register the hooks once the first conftests are there."""
    config.addinivalue_line("markers", "requirement(id): the requirement that this test verifies")
    if _witness is not None:
        config.pluginmanager.register(_witness, "verifygate-witness")
