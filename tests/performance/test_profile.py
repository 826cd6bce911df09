"""Profiles as the gate reads them: what they say of memory, growth and hazards, and what a broken child leaves."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verifygate.config.performance import PerformanceSettings
from verifygate.config.settings import Settings
from verifygate.merge.recompute import unsupported
from verifygate.model import (
    Anatomy,
    Certainty,
    Finding,
    Growth,
    MemoryPart,
    Outcome,
    Profile,
    Severity,
    StageResult,
    Status,
)
from verifygate.performance import PerformanceStage
from verifygate.performance.anatomy import attainable_share, bound, growth, measurements, unreachable
from verifygate.performance.hazards import answered
from verifygate.performance.spread import slope
from verifygate.process.subject import Subject
from verifygate.sources.tree import Sources
from verifygate.stage import StageContext

Measure = Callable[..., StageResult]
REAL = Path(__file__).parent / "real"


def finding(rule: str, path: str, line: int) -> Finding:
    return Finding(
        rule=rule,
        name=rule.lower(),
        path=path,
        line=line,
        column=1,
        end_line=line,
        severity=Severity.LOW,
        certainty=Certainty.CERTAIN,
        message="",
        fingerprint=f"{rule}{line}",
    )


def grown(*sizes: int) -> Profile:
    return Profile(arm="fp32", device="cpu", growth=Growth(steps=1, bytes=sizes, storages=tuple(range(len(sizes)))))


@pytest.mark.parametrize(
    ("sizes", "status"),
    [
        ((9_000, 5_000, 5_000, 5_000, 5_000), Status.PASS),
        ((5_000, 5_000, 9_000, 13_000, 17_000), Status.FAIL),
        ((5_000, 5_000, 15_000, 5_000, 30_000), Status.NOT_MEASURED),
        ((5_000, 5_004, 5_008, 5_012, 5_016), Status.PASS),
        ((1, 5_000, 9_000), Status.NOT_MEASURED),
    ],
    ids=["flat after a first epoch", "a leak", "scattered", "a number kept", "too few"],
)
def test_growth_is_a_leak_or_none_or_cannot_be_told(sizes: tuple[int, ...], status: Status) -> None:
    """The interval of the slope decides; the first epoch does not count."""
    found = growth(grown(*sizes), "cpu")
    assert found.status is status
    assert unsupported(found) == "", "the merger takes no PASS without samples"


def test_the_slope_of_a_line() -> None:
    """An exact line has its slope and no width; scatter widens the interval around the true slope."""
    exact = slope([1.0, 3.0, 5.0, 7.0])
    assert exact is not None
    assert (exact.low, exact.value, exact.high) == pytest.approx((2, 2, 2))
    scattered = slope([1.0, 3.5, 4.5, 7.0])
    assert scattered is not None
    assert scattered.low < 2 < scattered.high
    assert slope([1.0, 2.0]) is None


def test_what_autocast_can_save_at_the_most() -> None:
    """Half of the wide activations and others; integers, parameters, gradients and states stay."""
    sizes = {"parameters": (100, 100), "optimizer state": (200, 200), "activations": (400, 300), "other": (100, 100)}
    parts = tuple(MemoryPart.model_validate({"kind": kind, "bytes": b, "wide": w}) for kind, (b, w) in sizes.items())
    anatomy = Anatomy(peak=800, at="sum", phase="the backward", parts=parts)
    assert attainable_share(anatomy) == 0.25
    profiles = [Profile(arm="fp32", device="cpu", anatomy=anatomy)]
    assert unreachable(profiles, 0.3)
    assert not unreachable(profiles, 0.2)
    assert not unreachable(profiles, None)
    assert next(m for m in measurements(profiles, "cpu") if m.id == "memory-attainable").value == 0.25


def test_what_bounds_a_device() -> None:
    """An idle device waits for the host; a busy one either multiplies matrices or moves memory."""
    assert bound(0.3, 0.9).startswith("launch-bound")
    assert bound(0.95, 0.2).startswith("memory-bound")
    assert bound(0.95, 0.8).startswith("compute-bound")


def test_a_hazard_without_a_profile_is_never_answered() -> None:
    """No profile, no line: cannot tell, with the reason."""
    hazard = finding("PERF101", "train.py", 3)
    (none,) = answered([hazard], [Profile(arm="bf16", reason="out of memory")])
    assert (none.answer, none.why) == ("this machine cannot tell", "bf16: out of memory")
    (unpassed,) = answered([hazard], [Profile(arm="bf16", device="cpu")])
    assert unpassed.answer == "this machine cannot tell"
    assert "does not pass this line" in (unpassed.why or "")


@pytest.fixture
def profiled(tmp_path: Path) -> Callable[..., StageResult]:
    """Run the stage, with profile, on a real workload and the findings that a static stage made of it."""

    def run(workload: str, findings: tuple[Finding, ...] = ()) -> StageResult:
        shutil.copy(REAL / f"{workload}.py", tmp_path)
        settings = {"rounds": 3, "rounds_max": 3, "steps": 2, "warmup": 0, "train_steps": 1, "seeds": (0,)}
        performance = PerformanceSettings.model_validate({"workload": f"{workload}:build", **settings})
        context = StageContext(
            settings=Settings(root=tmp_path, today=dt.date(2025, 1, 1), performance=performance),
            sources=Sources([], []),
            subject=Subject(tmp_path, Path(sys.executable)),
            results={"static": StageResult(stage="static", outcome=Outcome.COMPLETED, findings=findings)},
        )
        return PerformanceStage().run(context)

    return run


def line_of(text: str) -> int:
    lines = (REAL / "hazards.py").read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


@pytest.mark.slow
def test_hazards_are_confirmed_or_refuted_by_what_was_measured(profiled: Callable[..., StageResult]) -> None:
    """Batch assembly that takes most of a step, and a leak in the evaluation, are confirmed; a sync is left open."""
    places = {
        "PERF107": line_of("torch.stack([self.slowly"),
        "PERF101": line_of("self.last = loss.item()"),
        "PERF111": line_of("return self.last.item()"),
        "PERF104": 1,
    }
    result = profiled("hazards", tuple(finding(rule, "hazards.py", line) for rule, line in places.items()))
    details: Any = result.details
    answers = {each.rule: (each.answer, each.why) for each in details.answers}
    assert answers["PERF107"][0] == "confirmed"
    assert answers["PERF101"][0] == "this machine cannot tell"
    assert answers["PERF101"][1].startswith("once in a step; ")
    assert "does not pass this line" in answers["PERF111"][1]
    assert "no DataLoader" in answers["PERF104"][1]
    by_id = {measurement.id: measurement for measurement in result.measurements}
    assert by_id["host-waits.bf16"].value == 1
    assert by_id["low-precision.bf16"].value == 1
    assert by_id["low-precision.fp32"].value == 0
    assert (by_id["data-wait.fp32"].value or 0) > 0.5
    leak = next(check for check in result.checks if check.id == "performance.memory-growth")
    assert (leak.status, leak.required) == (Status.FAIL, False)
    assert (by_id["memory-growth.fp32"].low or 0) > 64 * 64 * 4  # the batch and the output of each graph
    assert json.loads(result.model_dump_json())


def test_a_child_that_cannot_profile_is_a_reason(measure: Measure) -> None:
    """The stand-in torch has no modules: a reason for each arm, no number, and nothing passes."""
    result = measure("workloads:sound", profile=True)
    details: Any = result.details
    assert [bool(profile.reason) for profile in details.profiles] == [True, True]
    assert "Traceback" not in result.model_dump_json()
    check = next(check for check in result.checks if check.id == "performance.memory-growth")
    assert check.status is Status.NOT_MEASURED
