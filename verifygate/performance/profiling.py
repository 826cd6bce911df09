"""Have arms profiled, each in a fresh process, after everything that is timed is over."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import verifygate
from verifygate.base.lifeline import temporary_folder
from verifygate.base.regular_files import MAX_ANSWER_BYTES, read_regular
from verifygate.config.performance import PerformanceSettings
from verifygate.model import Finding, Profile
from verifygate.performance.comparison import ArmRecord, Comparison
from verifygate.performance.measuring import beside_each_other, cores
from verifygate.process.subject import Completed, StartOptions, Subject

START = Path(verifygate.__file__).parent / "instrument" / "bootstrap.py"
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
    """Profile fp32 and the arm that the targets are about. Never raises for what the workload does.

    Without an accelerator both at once, each on its share of the cores: no time of one arm is held against one of the
    other here, only parts of a step against the step.
    """
    arms, stop = (comparison.base, comparison.judged), threading.Event()
    together = comparison.host is not None and beside_each_other(comparison.plan, comparison.host)
    threads = max(1, cores() // len(arms)) if together else 0

    def profiled(arm: ArmRecord) -> Profile:
        if arm.failure:
            return Profile(arm=arm.name, reason=f"it did not run to its end: {arm.failure}")
        if comparison.plan.processes > 1:
            return Profile(arm=arm.name, reason="an arm of several processes is not profiled")
        progress(f"performance: {arm.name}: profiling")
        return _profiled(subject, settings, arm.name, hazards, threads, stop)

    with ThreadPoolExecutor(len(arms) if together else 1) as pool:
        try:
            return tuple(pool.map(profiled, arms))
        finally:
            stop.set()  # an interrupted gate does not wait for them


def _profiled(
    subject: Subject,
    settings: PerformanceSettings,
    arm: str,
    hazards: Sequence[Finding],
    threads: int,
    stop: threading.Event,
) -> Profile:
    options = {
        "workload": settings.workload,
        "precision": arm,
        "seed": settings.seeds[0],
        "threads": threads,
        "lines": [(hazard.path, hazard.line, hazard.end_line) for hazard in hazards],
    }
    with temporary_folder() as folder:
        asked, answer = Path(folder, "options.json"), Path(folder, "answer.json")
        asked.write_text(json.dumps(options), encoding="utf-8")
        command = [str(START), "bench.profile_arm", str(asked), str(answer)]
        try:
            start = StartOptions(safe_path=True, answers=[Path(folder)])
            completed = subject.run(command, seconds=settings.seconds, start=start, stop=stop)
        except OSError as error:
            return Profile(arm=arm, reason=f"the project's interpreter cannot be started: {error.strerror}")
        return _read(arm, answer, completed)


def _read(arm: str, answer: Path, completed: Completed) -> Profile:
    """What the process wrote; a reason where it wrote nothing, or nothing that our own code writes."""
    try:
        told: Any = json.loads(read_regular(answer, MAX_ANSWER_BYTES))
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
