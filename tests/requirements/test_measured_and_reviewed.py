"""Numbers with a bound, a unit and a device; and what a person has signed."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from requirement_world import World, arm, speedup

from verifygate.model import Check, EvidenceClass, Measurement, PerformanceDetails, Status

Writer = Callable[..., Path]


def asked(world: World, spec: Path) -> Check:
    return world.trace(spec).checks["R"]


def judged(world: World, written: Writer, terms: str, **changes: Any) -> Check:
    """The speed-up of 2.0, from 1.8 to 2.2, under these terms."""
    world.measurements = [speedup(**({"low": 1.8, "high": 2.2} | changes))]
    return asked(world, written(f"- measurement: {{{terms}}}"))


@pytest.mark.parametrize(
    ("terms", "status"),
    [
        ("metric: speedup", Status.PASS),
        ("id: speedup.*, at_least: 1.5", Status.PASS),
        ("metric: speedup, at_least: 1.8", Status.PASS),
        ("metric: speedup, at_least: 1.9", Status.NOT_MEASURED),
        ("metric: speedup, at_least: 2.3", Status.FAIL),
        ("metric: speedup, at_most: 2.2", Status.PASS),
        ("metric: speedup, at_most: 1.7", Status.FAIL),
        ("metric: speedup, within: 2.5", Status.PASS),
        ("metric: speedup, within: 1", Status.FAIL),
        ("metric: speedup, at_least: 1.5, unit: x", Status.PASS),
        ("metric: speedup, at_least: 1.5, unit: s", Status.NOT_MEASURED),
        ("metric: speedup, at_least: 3000000", Status.FAIL),
        ("metric: throughput", Status.NOT_MEASURED),
        ("metric: speedup, device: accelerator", Status.PASS),
        ("metric: speedup, device: NVIDIA H*", Status.PASS),
        ("metric: speedup, device: cpu", Status.NOT_MEASURED),
        ("metric: speedup, device: mps", Status.NOT_MEASURED),
    ],
)
def test_a_bound_needs_the_whole_interval(world: World, written: Writer, terms: str, status: Status) -> None:
    """An interval that holds the bound decides nothing; another unit or device is no answer."""
    assert judged(world, written, terms).status is status


def test_a_difference_that_may_lie_on_either_side(world: World, written: Writer) -> None:
    """Too wide on both sides of zero is noise, too far on one is a miss."""
    arms = (arm("fp32", 0.5, 0.5), arm("bf16", 0.5, 0.5))
    given: dict[str, Any] = {"id": "accuracy-difference.bf16", "metric": "accuracy-difference", "unit": "score"}
    given |= {"arms": arms, "value": 0.0, "target": ""}
    terms = "metric: accuracy-difference, within: 0.01, unit: score"
    assert judged(world, written, terms, low=-0.005, high=0.005, **given).status is Status.PASS
    assert judged(world, written, terms, low=-0.02, high=0.02, **given).status is Status.NOT_MEASURED


def test_cuda_is_what_the_stage_measured_on(world: World, written: Writer) -> None:
    """The device's name says nothing of its kind; the protocol does."""
    found = judged(world, written, "metric: speedup, device: cuda")
    assert found.status is Status.NOT_MEASURED
    world.protocol = PerformanceDetails(protocol=(("device", "cuda"),))
    assert judged(world, written, "metric: speedup, device: cuda").status is Status.PASS


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": EvidenceClass.PROJECTED},
        {"kind": EvidenceClass.DECLARED},
        {"arms": ()},
        {"value": None, "status": Status.NOT_MEASURED, "device": "accelerator", "reason": "there is no accelerator"},
    ],
)
def test_no_bound_makes_a_measurement_of_what_is_none(world: World, written: Writer, changes: dict[str, Any]) -> None:
    assert judged(world, written, "metric: speedup, at_least: 1.2", **changes).status is Status.NOT_MEASURED


def test_a_forged_value_fails_under_any_bound(world: World, written: Writer) -> None:
    assert judged(world, written, "metric: speedup, at_least: 1.2", value=2.1).status is Status.FAIL


def test_a_number_that_is_only_reported_does_not_speak_for_its_metric(world: World, written: Writer) -> None:
    """The ratio on the CPU stands beside the speed-up on the accelerator, and is no answer for it."""
    on_cpu = speedup(id="speedup-on-cpu.bf16", device="cpu", status=Status.NOT_APPLICABLE, target="")
    world.measurements = [on_cpu]
    assert asked(world, written("- measurement: {metric: speedup, at_least: 1.5}")).status is Status.NOT_MEASURED


def test_the_share_of_low_precision_may_be_measured(world: World, written: Writer) -> None:
    """Where no test run sampled it, the performance stage may have."""
    share = Measurement(
        id="low-precision-share.bf16", title="S", metric="low-precision-share", unit="share", device="cpu",
        status=Status.NOT_APPLICABLE, value=0.9,
    )  # fmt: skip
    from test_run_queries import RIGHT, steps

    world.run, world.measurements = steps(RIGHT), [share]
    found = world.trace(written("- run: {low_precision_share: '>= 0.5'}"))
    assert found.statuses["R"] is Status.PASS
    assert found.rows["R"].measurements == ("low-precision-share.bf16",)


# --- reviews

CODE = "def step():\n    return 1\n\n\ndef other():\n    return 2\n"


def review(written: Writer, digest: str = "", of: str = "train.py", more: str = "", head: str = "") -> Path:
    """A specification beside `train.py`, signed for it."""
    named = f"digest: '{digest}'" if digest else "commit: HEAD"
    line = f"- review: {{by: A. Person, date: 2025-12-01, said: looked at it, of: '{of}', {named}{more}}}"
    return written(f"{line}\n{head}" if head else line)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_review_alone_never_passes(world: World, written: Writer) -> None:
    """It is shown as declared, and even `review_suffices` does not let it stand for evidence."""
    path = review(written, sha(CODE)[:12])
    (path.parent / "train.py").write_text(CODE)
    found = asked(world, path)
    assert found.status is Status.PARTIAL
    assert "declared by A. Person on 2025-12-01: looked at it" in found.actual
    assert {item.kind for item in found.evidence} == {EvidenceClass.DECLARED}
    path.write_text(path.read_text().replace("    verify:", "    review_suffices: true\n    verify:"))
    found = asked(world, path)
    assert (found.status, found.actual) == (
        Status.PARTIAL,
        "declared only: nothing that was run or measured shows it",
    )


def test_a_review_that_suffices_answers_its_own_query(world: World, written: Writer) -> None:
    """Beside evidence that holds, where the requirement says that it is enough; and not where it does not say so."""
    path = review(written, sha(CODE), head="- construct: autocast")
    (path.parent / "train.py").write_text(CODE)
    assert asked(world, path).status is Status.PARTIAL
    path.write_text(path.read_text().replace("    verify:", "    review_suffices: true\n    verify:"))
    assert asked(world, path).status is Status.PASS


@pytest.mark.parametrize(
    ("more", "changed", "why"),
    [
        ("", True, "suspect: train.py has changed since it was reviewed"),
        (", until: 2025-12-31", False, "expired: it counted until 2025-12-31"),
    ],
)
def test_a_review_ends(world: World, written: Writer, more: str, changed: bool, why: str) -> None:
    """With the code that was reviewed, or with its last day."""
    path = review(written, sha(CODE), more=more)
    (path.parent / "train.py").write_text(CODE + "# more\n" * changed)
    found = asked(world, path)
    assert found.status is Status.NOT_MEASURED
    assert why in found.actual
    assert sha(CODE + "# more\n")[:12] in found.remedy or not changed


@pytest.mark.parametrize("of", ["gone.py", "../outside.py", "train.py::gone"])
def test_a_review_of_nothing_is_none(world: World, written: Writer, of: str) -> None:
    path = review(written, sha(CODE), of=of)
    (path.parent / "train.py").write_text(CODE)
    assert f"there is no {of}" in asked(world, path).actual


def test_a_review_of_a_symbol_survives_what_does_not_touch_it(world: World, written: Writer) -> None:
    """Named by commit: the syntax of the function then and now is compared."""
    path = review(written, of="train.py::step")
    folder = path.parent
    (folder / "train.py").write_text(CODE)
    for command in (
        ("init", "-q"),
        ("add", "train.py"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"),
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    assert asked(world, path).status is Status.PARTIAL
    (folder / "train.py").write_text("import os\n" + CODE.replace("return 2", "return 3"))
    assert asked(world, path).status is Status.PARTIAL
    (folder / "train.py").write_text(CODE.replace("return 1", "return 0"))
    assert "suspect: train.py::step has changed since HEAD" in asked(world, path).actual


def test_a_review_dated_ahead_is_none(world: World, written: Writer) -> None:
    path = review(written, sha(CODE))
    path.write_text(path.read_text().replace("2025-12-01", "2026-06-01"))
    (path.parent / "train.py").write_text(CODE)
    assert "still to come" in asked(world, path).actual
