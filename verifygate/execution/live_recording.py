"""Record and judge the tests of the pytest process that this runs in, one after the other.

The recorder and what judges its record are those of the gate's own test run. The gate judges when the run is over, in a
process of its own, and a test cannot do anything about it; here a test is judged as soon as it was called.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verifygate.base.owned_folders import owned, sweep, temporary_name
from verifygate.config.rule_selection import RuleSelection
from verifygate.execution.instruments import PACKAGE, TOLD, assemble, children, read_told
from verifygate.execution.order import OrderJudge
from verifygate.execution.ranks import compare, join_child
from verifygate.execution.recorded_trace import Trace, TraceReader
from verifygate.execution.run_findings import Ownership
from verifygate.execution.scrub import Scrubber
from verifygate.execution.session import INSTRUMENTS_PLUGIN, INSTRUMENTS_VARIABLE
from verifygate.execution.trace_judgement import recorder, violations_by_test, wanted_findings
from verifygate.model import Finding
from verifygate.sources.tree import Sources


@dataclass(frozen=True)
class RecordedTest:
    """What the record of one test comes to."""

    test: str
    findings: tuple[Finding, ...]
    problems: tuple[str, ...]
    """Why the record may not show all that the test did."""
    events: tuple[tuple[str, int], ...]
    """Kind of event -> how often it was recorded, in order of kind."""


@dataclass
class LiveRecording:
    """The recorder in this process. `folder` is private to it."""

    root: Path
    sources: Sources
    choice: RuleSelection
    folder: Path
    plugin: Any = None
    """The part of the instruments that tells the recorder where a test begins; a plugin of pytest's."""
    _held: ExitStack = field(default_factory=ExitStack)
    """What keeps the folder."""
    _reader: TraceReader = field(init=False)
    _seen_children: int = 0

    @classmethod
    def start(cls, root: Path, sources: Sources, choice: RuleSelection) -> LiveRecording:
        """Record from here on what a project's code does: which files are judged, and by which rules."""
        folder = temporary_name("pytest")
        sweep()
        recording = cls(root, sources, choice, folder)
        recording._held.enter_context(owned(folder))
        recording._install()
        return recording

    def _install(self) -> None:
        """Load a copy of the instruments, whose frames are nobody's code, and put the recorder in place."""
        written = self.folder / "written"
        written.mkdir()
        self._reader = TraceReader(written / "trace")
        start = assemble(self.folder / "code")
        spec = importlib.util.spec_from_file_location(f"{PACKAGE}_start", start)
        assert spec is not None  # noqa: S101 - the file was just written
        assert spec.loader is not None  # noqa: S101
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.load()
        wanted = {"folder": str(written), "root": str(self.root), "instruments": [recorder()], "follow": True}
        os.environ[INSTRUMENTS_VARIABLE] = json.dumps(wanted)  # which the plugin takes out again
        self.plugin = importlib.import_module(INSTRUMENTS_PLUGIN)

    def begin(self) -> None:
        """A test begins: what was recorded before is none of it."""
        self._reader.read()
        self._reader.trace.sections.clear()
        self._seen_children = len(children(self.folder / "written"))

    def judged(self, test: str, *, passed: bool, is_over: bool = True) -> RecordedTest:
        """What was recorded of the test that runs. What needs all of its steps is told when it is over."""
        if is_over and (recorder := self._recorder) is not None:
            recorder.end_of_section()
        self._reader.read()
        whole = self._reader.trace
        sections = [each for each in whole.sections if each.name == test]
        trace = Trace(sections, dict(whole.optimizers), dict(whole.scalers), dict(whole.places))
        for number, child in enumerate(children(self.folder / "written")[self._seen_children :], 1):
            join_child(trace, child, number)
        ownership = Ownership(self.sources, Scrubber(self.root, self.folder).inside)
        names = {test} if passed else set()
        hits = violations_by_test(trace, OrderJudge(trace), compare(trace), str, names)
        counts: dict[str, int] = {}
        for event in trace.events:
            counts[event.kind] = counts.get(event.kind, 0) + 1
        problems = tuple(self._problems(trace, whole.problems))
        findings = wanted_findings(hits, ownership, self.choice)
        return RecordedTest(test, findings, problems, tuple(sorted(counts.items())))

    @property
    def _recorder(self) -> Any:
        """The recorder, once torch is there."""
        return getattr(sys.modules.get(f"{PACKAGE}.recorder.install"), "current", None)

    def _problems(self, trace: Trace, told: Sequence[str]) -> list[str]:
        problems = [f"the recorder broke: {each}" for each in told]
        if trace.dropped:
            problems.append(f"{trace.dropped} events were not kept: the test does more than is recorded")
        if "torch" in sys.modules and self._recorder is None:
            lost = (one for one in read_told(self.folder / "written" / TOLD) if one["event"] == "not-installed")
            why = next((str(one.get("error")) for one in lost), "torch came before it")
            problems.append(f"the recorder could not be installed: {why}")
        return problems

    def end(self) -> None:
        """The run is over."""
        self._held.close()
