"""Have arms profiled, each in a fresh process, after everything that is timed is over."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import verifygate
from verifygate.model import Finding, Profile
from verifygate.performance.record import Comparison
from verifygate.performance_settings import PerformanceSettings
from verifygate.subject import Completed, Subject

SCRIPT = Path(verifygate.__file__).parent / "instrument" / "profile_arm.py"
FAMILY = "PERF"
"""The rules whose findings are put to the test."""


def hazards_of(findings: Sequence[Finding]) -> list[Finding]:
    """The findings about speed and memory, in the order of the source."""
    found = [finding for finding in findings if finding.rule.startswith(FAMILY)]
    return sorted(found, key=lambda finding: (finding.path, finding.line, finding.rule))


def profile(
    subject: Subject,
    settings: PerformanceSettings,
    comparison: Comparison,
    hazards: Sequence[Finding],
    progress: Callable[[str], None],
) -> tuple[Profile, ...]:
    """Profile fp32 and the arm that the targets are about. Never raises for what the workload does."""
    found = []
    for arm in (comparison.base, comparison.judged):
        if arm.failure:
            found.append(Profile(arm=arm.name, reason=f"it did not run to its end: {arm.failure}"))
            continue
        if comparison.plan.processes > 1:
            found.append(Profile(arm=arm.name, reason="an arm of several processes is not profiled"))
            continue
        progress(f"performance: {arm.name}: profiling")
        found.append(_profiled(subject, settings, arm.name, hazards))
    return tuple(found)


def _profiled(subject: Subject, settings: PerformanceSettings, arm: str, hazards: Sequence[Finding]) -> Profile:
    options = {
        "workload": settings.workload,
        "precision": arm,
        "seed": settings.seeds[0],
        "lines": [(hazard.path, hazard.line, hazard.end_line) for hazard in hazards],
    }
    with tempfile.TemporaryDirectory(prefix="verifygate-") as folder:
        asked, answer = Path(folder, "options.json"), Path(folder, "answer.json")
        asked.write_text(json.dumps(options), encoding="utf-8")
        try:
            completed = subject.run([str(SCRIPT), str(asked), str(answer)], seconds=settings.seconds)
        except OSError as error:
            return Profile(arm=arm, reason=f"the project's interpreter cannot be started: {error.strerror}")
        return _read(arm, answer, completed)


def _read(arm: str, answer: Path, completed: Completed) -> Profile:
    """What the process wrote; a reason where it wrote nothing, or nothing that our own code writes."""
    try:
        told: Any = json.loads(answer.read_text(encoding="utf-8"))
    except OSError:
        return Profile(arm=arm, reason=f"its process ended early: {completed.ending}")
    except ValueError:
        told = None
    try:
        if "failed" in told:
            return Profile(arm=arm, reason=str(told["failed"]))
        return Profile.model_validate({"arm": arm, **told["done"]})
    except (ValidationError, TypeError, KeyError):
        return Profile(arm=arm, reason="its answer is not one that the gate's own code gives")
