"""What the oracles say where little was seen, or where equal runs differ: judged on events written by hand."""

from __future__ import annotations

import base64
import contextlib
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from verifygate.config.settings import OraclesSettings
from verifygate.execution.oracles import ask_the_oracles, edge_cases, inf_injection, planning, scale_invariance
from verifygate.execution.oracles.answers import Answer
from verifygate.execution.oracles.planning import INF, Entry, _worse
from verifygate.execution.oracles.runs import EntryError, Job, Seen, words
from verifygate.execution.oracles.step import _check
from verifygate.execution.scrub import Scrubber
from verifygate.model import Status
from verifygate.process.subject import Subject
from verifygate.sources.tree import Sources


def stepped(weights: float, scale: float, **more: Any) -> dict[str, Any]:
    sample = base64.b64encode(struct.pack("<d", weights)).decode()
    event = {"event": "stepped", "window": 0, "optimizer": 0, "by": "scaler", "site": ["train.py", 9], "scale": scale}
    return event | {"weights": str(weights), "moved": True, "finite": True, "sample": sample} | more


def run(*weights: float, scale: float = 256.0) -> Seen:
    return Seen((*(stepped(weight, scale) for weight in weights), {"event": "enough"}))


def test_a_difference_asks_for_a_second_run():
    assert scale_invariance.judge(run(1.0, 2.0), run(1.0, 2.1, scale=65536.0), None, switched_on=False) is None


@pytest.mark.parametrize(
    ("again", "high", "status", "said"),
    [
        (2.0, 2.1, Status.FAIL, "from step 2 on"),
        (2.00001, 2.00005, Status.PASS, "equal runs differ by 1e-05"),
        (2.00001, 2.1, Status.FAIL, "is allowed"),
        (2.1, 2.2, Status.NOT_MEASURED, "nothing can be told"),
    ],
)
def test_the_tolerance_is_what_equal_runs_differ_by(again: float, high: float, status: Status, said: str):
    answer = scale_invariance.judge(run(1.0, 2.0), run(1.0, high, scale=65536.0), run(1.0, again), switched_on=False)

    assert answer is not None
    assert answer.status is status
    assert said in answer.actual


@pytest.mark.parametrize(
    ("dtype", "scaler", "status", "said"),
    [
        ("bfloat16", False, Status.PARTIAL, "bfloat16 is asked of a GPU that has none of its own"),
        ("float16", False, Status.FAIL, "float16 without a scaler"),
        ("float16", True, Status.PASS, "2 steps, with a live scaler, autocast: float16 on cuda"),
        ("", False, Status.PASS, "2 steps, without a scaler, autocast: off"),
    ],
)
def test_a_gpu_without_bfloat16(dtype: str, scaler: bool, status: Status, said: str):
    """What a program falls back to there, and whether that is sound."""
    region = {
        "event": "autocast",
        "device": "cuda",
        "dtype": f"torch.{dtype}",
        "enabled": bool(dtype),
        "site": ["a", 1],
    }
    made = {"event": "scaler", "asked": scaler, "enabled": scaler, "site": ["a", 2]}
    answer = edge_cases.pre_ampere(Seen((region, made, *run(1.0, 2.0).events)), scaler)
    assert (answer.status, said in answer.actual) == (status, True), answer.actual


def test_equal_weights_show_nothing_where_the_scale_was_equal_too():
    answer = scale_invariance.judge(run(1.0, 2.0), run(1.0, 2.0), None, switched_on=False)

    assert answer is not None
    assert answer.status is Status.NOT_MEASURED
    assert "sets its loss scale itself (256 in both runs)" in answer.actual


def test_equal_weights_show_nothing_where_nothing_moved():
    still = [Seen((stepped(1.0, scale, moved=False), {"event": "enough"})) for scale in (256.0, 65536.0)]
    answer = scale_invariance.judge(*still, None, switched_on=False)

    assert answer is not None
    assert answer.status is Status.NOT_MEASURED


def test_a_run_that_nobody_poisoned_shows_nothing():
    answer = inf_injection.judge(run(1.0, 2.0), guarded=True)

    assert answer.status is Status.NOT_MEASURED


@pytest.mark.parametrize(
    ("precision", "region", "status"),
    [("fp16", (), Status.PARTIAL), ("no", (), Status.PASS), ("bf16", ("torch.bfloat16",), Status.PASS)],
)
def test_a_precision_that_a_framework_drops_without_a_word(precision: str, region: tuple[str, ...], status: Status):
    """Accelerate was asked for it, and without CUDA there is neither a region nor a scaler."""
    delegated = {"event": "delegated", "framework": "Accelerate", "precision": precision, "site": ("/p/train.py", 9)}
    regions = ({"event": "autocast", "device": "cpu", "dtype": dtype, "enabled": True} for dtype in region)
    answer = edge_cases.device_missing(Seen((*regions, delegated, *run(1.0).events)), False)

    assert answer.status is status
    assert ("Accelerate was asked for fp16" in answer.actual) is (status is Status.PARTIAL)


@pytest.mark.parametrize(
    ("sign", "asked"),
    [
        ({"event": "optimizer", "dtypes": ["torch.float32"]}, False),
        ({"event": "optimizer", "dtypes": ["torch.bfloat16", "torch.float32"]}, True),
        ({"event": "autocast", "device": "cuda", "dtype": "torch.float16", "enabled": False}, True),
        ({"event": "delegated", "framework": "Accelerate", "precision": "fp16"}, True),
    ],
)
def test_a_float32_program_is_not_asked_what_an_overflow_does(sign: dict[str, Any], asked: bool, tmp_path: Path):
    """An inf that reaches the weights of a program without mixed precision is no fault of its precision."""
    poisoned = run(1.0, float("inf"))
    seen = Seen((sign, *run(1.0, 2.0).events))
    jobs: list[Job] = []
    entry = Entry(tmp_path, "python train.py")
    asking = planning.questions(OraclesSettings(), [entry], edges=False)
    batch = list(next(asking))
    with contextlib.suppress(StopIteration):
        while True:
            jobs += batch
            injected = [any(name == "injection" for name, _ in each.instruments) for each in batch]
            batch = list(asking.send([poisoned if each else seen for each in injected]))
    assert any(name == "injection" for each in jobs for name, _ in each.instruments) is asked
    assert (entry.answers[INF].status is Status.NOT_APPLICABLE) is not asked


@pytest.mark.parametrize(
    ("other", "required"),
    [
        (Answer(Status.PASS, "the weights stay as they were"), False),
        (Answer(Status.NOT_MEASURED, "the entry died"), True),
        (Answer(Status.FAIL, "the inf reaches the weights past the scaler"), True),
    ],
)
def test_what_nothing_in_amp_asks_for_blocks_nothing(other: Answer, required: bool, tmp_path: Path):
    """bfloat16 has no scaler that would skip a step: an inf that reaches the weights is shown, whatever others say."""
    poisoned = {"event": "poisoned", "window": 0, "optimizer": 0, "site": ["train.py", 8]}
    unguarded = inf_injection.judge(Seen((poisoned, stepped(float("inf"), 1.0, finite=False))), guarded=False)
    check = _check(INF, [(1, unguarded), (2, other)], Scrubber(tmp_path, tmp_path))

    assert (unguarded.status, unguarded.advises) == (Status.PARTIAL, True)
    assert check.required is required
    assert _worse(unguarded, other).status is (other.status if required else Status.PARTIAL)


def test_a_watch_that_could_not_be_installed_is_no_pass():
    seen = Seen(({"event": "not-installed", "instrument": "oracle", "error": "boom"}, *run(1.0, 2.0).events))

    assert seen.error is not None
    assert inf_injection.judge(seen, guarded=True).status is Status.NOT_MEASURED


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python train.py --out {temporary}/x", ["train.py", "--out", "/t/x"]),
        ("python3 -m package.train --steps=3", ["-m", "package.train", "--steps=3"]),
        ("tests/test_a.py::test_b", ["-m", "pytest", "tests/test_a.py::test_b"]),
    ],
)
def test_an_entry_as_words(command: str, expected: list[str]):
    found = words(command, Path("/t"))

    assert [word for word in found if word in expected] == expected


@pytest.mark.parametrize("command", ["", "python", "python -m", "python -c 'import torch'", "python 'train.py"])
def test_an_entry_that_cannot_be_run(command: str):
    with pytest.raises(EntryError):
        words(command, Path("/t"))


def asked(root: Path, *entries: str) -> dict[str, tuple[Status, str]]:
    settings = OraclesSettings(entries=entries)
    subject = Subject(root, Path(sys.executable))
    examined = ask_the_oracles(subject, settings, Sources(()), Scrubber(root, root / "own"), root / "own")
    return {check.id: (check.status, check.actual) for check in examined.checks}


def test_without_entries_the_checks_do_not_apply(tmp_path: Path):
    checks = asked(tmp_path)

    assert set(checks) == {"execution.oracle-scale-invariance", "execution.oracle-inf-injection"}
    assert {status for status, _ in checks.values()} == {Status.NOT_APPLICABLE}


def test_a_wrong_entry_is_not_measured(tmp_path: Path):
    checks = asked(tmp_path, "python -c 'print(1)'")

    assert {status for status, _ in checks.values()} == {Status.NOT_MEASURED}
    assert "names no script and no module" in checks["execution.oracle-inf-injection"][1]


def test_an_entry_that_fails_by_itself_is_not_measured(tmp_path: Path):
    (tmp_path / "train.py").write_text("raise KeyError('data')\n", encoding="utf-8")
    checks = asked(tmp_path, "python train.py", "python gone.py")

    assert {status for status, _ in checks.values()} == {Status.NOT_MEASURED}
    assert "KeyError" in checks["execution.oracle-inf-injection"][1]


def updated(before: float, after: float, **more: Any) -> dict[str, Any]:
    return {"event": "updated", "window": 2, "site": ["train.py", 12], "before": before, "after": after} | more


@pytest.mark.parametrize(("next_optimizer", "status"), [(1, Status.PASS), (0, Status.FAIL)])
def test_one_update_behind_the_steps_of_two_networks(next_optimizer: int, status: Status):
    """The inf of a discriminator is answered for behind the generator's step; not behind its own next one."""
    backward = {"event": "move", "kind": "backward", "window": 2, "site": ["train.py", 10]}
    events = (
        {"event": "poisoned", "window": 2, "optimizer": 0, "site": ["train.py", 8]},
        stepped(1.0, 256.0, moved=False, window=2),
        backward,
        stepped(2.0, 256.0, optimizer=next_optimizer, window=2),
        updated(256.0, 128.0, backoff=0.5),
        backward | {"window": 3},
        stepped(3.0, 128.0, window=3),
        stepped(4.0, 128.0, window=3, optimizer=1),
        updated(128.0, 128.0, backoff=0.5, window=3),
        {"event": "enough"},
    )
    answer = inf_injection.judge(Seen(events), guarded=True)
    assert (answer.status, bool(answer.blames)) == (status, status is Status.FAIL), answer.actual


@pytest.mark.parametrize(("taken_up", "status"), [(128.0, Status.NOT_MEASURED), (65536.0, Status.FAIL)])
def test_a_scaler_that_a_resumed_run_builds_anew(taken_up: float, status: Status):
    """It has learned what its loaded state says; without that, the scale is back where it began."""
    made = {"event": "scaler", "window": 0, "scale": 65536.0, "site": ["train.py", 3]}
    poisoned = {"event": "poisoned", "window": 0, "optimizer": 0, "site": ["train.py", 8]}
    first = (made, poisoned, updated(256.0, 128.0))
    events = (*first, made | {"window": 1}, poisoned, updated(taken_up, taken_up / 2), {"event": "enough"})
    answer = edge_cases.overflow_streak(Seen(events), True)
    assert (answer.status, bool(answer.blames)) == (status, status is Status.FAIL), answer.actual
