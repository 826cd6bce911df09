"""Run today's tests on the code of the base revision: did a violation that only a run shows exist before the change?

The tests are those of today: they are what shows the violation. So that they can be imported, files that came later
stay where they are; nothing in them existed before. Where the old code is too different for a test to show the
violation there, it counts as new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from verifygate.config.settings import Settings
from verifygate.execution.collected_tests import read_config
from verifygate.execution.copies import copy_project
from verifygate.execution.oracles import ask_the_oracles
from verifygate.execution.run_findings import SEEN_IN
from verifygate.execution.scrub import Scrubber
from verifygate.execution.session import SessionOptions, bounds_of, run_pytest
from verifygate.execution.steps import account_of
from verifygate.execution.trace_judgement import judged, recorder
from verifygate.model import Finding
from verifygate.process.subject import Subject
from verifygate.sources.discovery import read_sources
from verifygate.sources.file import SourceFile

EMULATED = "with CUDA emulated"


def stood_before(
    settings: Settings, subject: Subject, before: Iterable[SourceFile], findings: Sequence[Finding], folder: Path
) -> frozenset[str]:
    """Fingerprints of those `findings`, each seen by a run alone, that a run of the audited code of `before` shows too.

    `folder` is private to this call, and there. Raises OSError where the interpreter cannot be started.
    """
    files = {file.path: file for file in before if not file.is_test}
    findings = [each for each in findings if each.path in files]
    if not findings:
        return frozenset()
    tree = copy_project(subject.root, folder / "tree", apart=folder)
    for path, file in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).unlink(missing_ok=True)  # it may be a link to the file of today
        (tree / path).write_bytes(file.data)
    there = subject.copied(tree)
    shown: set[str] = set()
    for emulated in (False, True):
        asked = [each for each in findings if each.run.startswith(EMULATED) is emulated]
        tests = dict.fromkeys(test for each in asked for test in _tests(each))
        if tests:
            run = folder / ("emulated" if emulated else "recorded")
            run.mkdir()
            shown |= _recorded(settings, there, list(tests), run, emulated)
    if any(not _tests(each) for each in findings):
        scrubber, sources = Scrubber(tree, folder), read_sources(tree, settings.sources, settings.exclusion)
        asked_there = ask_the_oracles(
            there,
            settings.execution.oracles,
            sources,
            scrubber,
            folder / "oracles",
            capability=settings.execution.capability,
        )
        shown |= {each.fingerprint for each in asked_there.findings}
    return frozenset(each.fingerprint for each in findings if each.fingerprint in shown)


def _tests(finding: Finding) -> list[str]:
    """The tests that showed it; none where the oracles did."""
    return [value for detail in finding.details if detail.label == SEEN_IN for value in detail.values if "::" in value]


def _recorded(settings: Settings, subject: Subject, tests: list[str], folder: Path, emulated: bool) -> set[str]:
    """Fingerprints of what the recorder finds in some tests."""
    execution = settings.execution
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    instruments: list[tuple[str, dict[str, Any]]] = [recorder(emulated=emulated)]
    if emulated:
        instruments.insert(0, ("emulate_cuda", {"capability": execution.capability}))
    session = run_pytest(
        subject,
        (*read_config(subject.root).kept, "--continue-on-collection-errors", *files),
        folder=folder,
        bounds=bounds_of(execution),
        options=SessionOptions(instruments=instruments, only=tests),
    )
    account, _ = account_of(session, Scrubber(subject.root, folder))
    sources = read_sources(subject.root, settings.sources, settings.exclusion)
    return {each.fingerprint for each in judged(session, account, sources, settings.static.selection).findings}
