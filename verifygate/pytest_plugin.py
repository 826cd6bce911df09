"""`pytest --verifygate`: record what each test does with AMP, and fail the test in which code breaches the protocol.

Without the option this registers two things, the option and a fixture, and imports nothing. Where `verifygate run`
starts pytest, the gate records by itself, and this plugin keeps out of its way.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from verifygate.config.rule_selection import RuleSelection
    from verifygate.execution.live_recording import LiveRecording, RecordedTest
    from verifygate.model import Finding
    from verifygate.sources.tree import Sources

NAME = "verifygate-recording"
_GATE = "verifygate_instruments.pytest_plugin.stream"
"""The gate's own plugin, in a run that the gate has started."""
_FOLLOWED = "VERIFYGATE_CHILDREN"
"""Set in the processes that a recorded run starts: the recorder is there already."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that switches it on."""
    group = parser.getgroup("verifygate")
    group.addoption(
        "--verifygate",
        action="store_true",
        default=False,
        help="record what each test does with AMP, and fail the test in which the code breaches the protocol",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Put the recorder in place before a conftest can import torch."""
    options = early_config.known_args_namespace
    if not options.verifygate or early_config.pluginmanager.hasplugin(_GATE) or _FOLLOWED in os.environ:
        return
    if _hands_out_tests(options):
        early_config.pluginmanager.register(Remarks(), f"{NAME}-remarks")
        return
    from verifygate.base.errors import VerifygateError
    from verifygate.execution.live_recording import LiveRecording

    try:
        recording = LiveRecording.start(*_project(early_config.rootpath))
    except VerifygateError as error:
        raise pytest.UsageError(f"verifygate: {error}") from None
    early_config.pluginmanager.register(Judge(recording), NAME)
    early_config.pluginmanager.register(Remarks(), f"{NAME}-remarks")


def _hands_out_tests(options: Any) -> bool:
    """Whether this is the process of pytest-xdist that lets others run the tests."""
    shares = getattr(options, "numprocesses", None) or getattr(options, "tx", None)
    return bool(shares) and "PYTEST_XDIST_WORKER" not in os.environ


def _project(start: Path) -> tuple[Path, Sources, RuleSelection]:
    """The project around a folder: its root, its audited files, and which rules are on. Raises UsageError."""
    from verifygate.config.locate import find
    from verifygate.config.rule_selection import RuleSelection
    from verifygate.sources.discovery import read_sources

    config = find(start)
    if config is None:
        return start, read_sources(start, (".",)), RuleSelection()
    from verifygate.config.settings import load
    from verifygate.static.registry import check_rules

    settings = load(config, start)
    check_rules(settings)
    root = config.resolve().parent
    return root, read_sources(root, settings.sources, settings.exclusion), settings.static.selection


class Judge:
    """Judges each test when it was called."""

    def __init__(self, recording: LiveRecording) -> None:
        self.recording = recording
        self._sections: Any = None

    def pytest_configure(self, config: pytest.Config) -> None:
        self.recording.plugin.pytest_configure(config)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        """Inside the instruments' own hook, which begins the section."""
        self.recording.begin()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """A breach is the test's failure; a test that failed by itself keeps its own, with the breach beside it."""
        try:
            result = yield
        except BaseException:
            if grave := self._tell(item, self.recording.judged(item.nodeid, passed=False)):
                item.add_report_section("call", "verifygate", _text(grave))
            raise
        recorded = self.recording.judged(item.nodeid, passed=True)
        if grave := self._tell(item, recorded):
            pytest.fail(_text(grave), pytrace=False)
        if any("could not be installed" in problem for problem in recorded.problems):
            pytest.fail(f"verifygate: {recorded.problems[-1]}", pytrace=False)
        return result

    def _tell(self, item: pytest.Item, recorded: RecordedTest) -> list[Finding]:
        """Keep with the item what does not fail it; returns what does."""
        from verifygate.execution.trace_judgement import is_grave

        grave = [each for each in recorded.findings if is_grave(each)]
        slight = [
            f"{each.rule} {each.path}:{each.line}: {each.message}" for each in recorded.findings if each not in grave
        ]
        item.stash[_REMARKS] = [*slight, *recorded.problems]
        return grave

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "call":
            setattr(report, _OF_REPORT, item.stash.get(_REMARKS, []))  # xdist sends it on with the report
        return report

    def pytest_unconfigure(self) -> None:
        self.recording.end()


_REMARKS = pytest.StashKey[list[str]]()
_OF_REPORT = "verifygate_remarks"


class Remarks:
    """Lists at the end what was seen and fails nothing."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        """Remark -> the first test that it is about."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for remark in getattr(report, _OF_REPORT, ()):
            self._told.setdefault(remark, report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._told:
            terminalreporter.section("verifygate: seen in tests, without failing them")
            for remark, test in self._told.items():
                terminalreporter.line(f"{remark} ({test})")


def _text(findings: list[Finding]) -> str:
    """The failure's text: rule, place, what happened, and what to write instead."""
    parts = []
    for each in findings:
        place = f"{each.path}:{each.line}"
        lines = [f"{place}: {each.rule} {each.name} ({each.severity}): {each.message}"]
        lines += [f"    {step.path}:{step.line}: {step.text}" for step in each.steps]
        lines += [f"  remedy: {each.remedy}"] if each.remedy else []
        lines += [f"  more: verifygate explain {each.rule}"]
        parts.append("\n".join(lines))
    return "\n".join(["the code under test breaches the AMP protocol in this test (verifygate):", *parts])


class AmpRecording:
    """What the running test has done with AMP so far."""

    def __init__(self, recording: LiveRecording, test: str) -> None:
        self._recording, self._test = recording, test

    @property
    def counts(self) -> dict[str, int]:
        """Kind of event -> how often it happened: `autocast`, `backward`, `unscale`, `clip`, `scaler.step`, ..."""
        return dict(self._recording.judged(self._test, passed=True, is_over=False).events)

    @property
    def findings(self) -> list[Finding]:
        """The rules that were broken, each with its place."""
        return list(self._recording.judged(self._test, passed=True, is_over=False).findings)


@pytest.fixture
def amp_recording(request: pytest.FixtureRequest) -> AmpRecording:
    """The record of this test: what it did with AMP so far. Skips the test where `--verifygate` is not given."""
    judge: Judge | None = request.config.pluginmanager.get_plugin(NAME)
    if judge is None:
        pytest.skip("nothing is recorded without --verifygate, nor by this plugin where the gate records")
    return AmpRecording(judge.recording, request.node.nodeid)
