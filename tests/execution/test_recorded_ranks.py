"""Training in processes that the audited code starts: each is recorded and judged, and ranks are compared."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verifygate.events.record import Frame
from verifygate.execution.ranks import compare
from verifygate.execution.recorded_trace import Event, Process, Section, Trace
from verifygate.model import ExecutionDetails, StageResult, Status
from verifygate.protocol import Violation

pytest.importorskip("torch")
Run = Callable[..., StageResult]
FRAMES = (Frame("/p/train.py", "main", 7),)
PLAIN = "torch.amp.grad_scaler.GradScaler"
SHARDED = "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler"


# -- processes that a test starts ------------------------------------------------------------------------------------


def test_a_tests_own_processes_are_judged(run_suite: Run) -> None:
    """A script and a spawned worker are; one that throws the environment away is not seen, and no fault is made up."""
    result = run_suite("launched", seconds=900.0, coverage=False)

    assert isinstance(result.details, ExecutionDetails)
    assert [(each.id, each.outcome) for each in result.details.tests if each.outcome != "passed"] == []
    (finding,) = result.findings
    assert (finding.rule, finding.path, finding.line) == ("AMP201", "train.py", 19)
    assert [detail.values for detail in finding.details] == [("test_launched.py::test_script_that_clips_late",)]
    assert result.details.trace is not None
    assert (result.details.trace.steps, result.details.trace.ranks) == (6, ())
    (check,) = (check for check in result.checks if check.id == "execution.trace")
    assert check.status is Status.FAIL


# -- comparison ------------------------------------------------------------------------------------------------------


def ranks(
    *stepped: list[bool],
    scaler: str = PLAIN,
    flattened: bool = True,
    ended: bool = True,
    norms: tuple[float, ...] = (1.0, 1.0),
    tests: tuple[str, ...] = ("", ""),
    alone: bool | None = None,
) -> Trace:
    """The trace of as many ranks as there are lists; each says of its steps whether the scaler took them."""
    trace = Trace()
    for rank, taken in enumerate(stepped):
        number = rank + 1
        trace.scalers[number] = {"type": scaler}
        trace.optimizers[number] = {"flattened": flattened}
        rows: list[tuple[str, dict[str, Any]]] = [("scaler", {"scaler": number})]
        scale = 64.0
        for each in taken:
            scale = scale if each else scale / 2
            step = {
                "optimizer": number,
                "scaler": number,
                "stepped": each,
                "found_inf": float(not each),
                "alone": alone,
            }
            rows += [
                ("clip", {"optimizers": [number], "norm": norms[rank]}),
                ("scaler.step", step),
                ("update", {"scaler": number, "scale": scale}),
            ]
        events = [Event(at, kind, 0, FRAMES, "", fields) for at, (kind, fields) in enumerate(rows, 1)]
        process = Process(number, rank, len(stepped), ended)
        trace.sections.append(Section(tests[rank], events, process=process))
    return trace


def violations(trace: Trace) -> list[Violation]:
    return [hit.violation for _, hit in compare(trace).hits]


def test_ranks_that_agree_say_nothing() -> None:
    seen = compare(ranks([True, False], [True, False]))
    assert (seen.remarks, seen.hits) == ((), ())
    assert [(rank.rank, rank.steps, rank.skipped, rank.scale_last) for rank in seen.ranks] == [
        (0, 2, 1, 32.0),
        (1, 2, 1, 32.0),
    ]


def test_a_skip_in_one_rank_alone_is_amp307_where_gradients_are_sharded() -> None:
    apart = ([True, False], [True, True])
    assert violations(ranks(*apart)) == [Violation.SHARDED_NEEDS_SHARDED_SCALER]
    assert violations(ranks(*apart, scaler=SHARDED)) == []
    assert violations(ranks(*apart, flattened=False)) == []
    assert compare(ranks(*apart, flattened=False)).remarks == (
        "2 ranks of 2 parted at step 1: rank 0 skipped, rank 1 stepped",
        "2 ranks of 2 scale by different numbers from step 0 on: rank 0 32, rank 1 64",
    )


def test_norms_of_shards() -> None:
    assert violations(ranks([True], [True], norms=(1.0, 2.0))) == [Violation.SHARDED_NEEDS_SHARDED_SCALER]
    assert violations(ranks([True], [True], norms=(1.0, 1.0001))) == []
    assert violations(ranks([True], [True], norms=(1.0, 2.0), flattened=False)) == []
    assert violations(ranks([True], [True], norms=(1.0, float("inf")))) == []


def test_gradients_that_ddp_never_averaged() -> None:
    """No forward of the wrapper before a step; whoever averages by hand clips by the same norm."""
    apart = {"norms": (1.0, 2.0), "flattened": False}
    assert violations(ranks([True], [True], **apart, alone=True)) == [Violation.NO_SYNC_INVERTED]  # AMP218
    assert violations(ranks([True], [True], **apart)) == []
    assert violations(ranks([True], [True], flattened=False, alone=True)) == []


def test_numbers_of_steps_count_where_both_came_to_their_end() -> None:
    assert compare(ranks([True, True], [True])).remarks == (
        "2 ranks of 2 took different numbers of steps: rank 0 2, rank 1 1",
    )
    assert compare(ranks([True, True], [True], ended=False)).remarks == ()


def test_ranks_of_two_tests_are_strangers() -> None:
    apart = ranks([True, False], [True, True], tests=("test_a", "test_b"))
    assert (compare(apart).ranks, compare(apart).hits) == ((), ())


# -- two ranks over gloo ---------------------------------------------------------------------------------------------

SCRIPT = """
import sys

import torch
from torch import distributed
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel


def main(sharded):
    distributed.init_process_group("gloo")
    torch.manual_seed(distributed.get_rank())
    layer = torch.nn.Linear(8, 2)
    if sharded:
        model = FullyShardedDataParallel(layer, device_id=torch.device("cpu"))
    else:
        model = DistributedDataParallel(layer)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)  # plain
    for number in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            outputs = model(torch.randn(4, 8))
        size = outputs.float().square().mean()
        if number == 1 and distributed.get_rank() == 0 and not sharded:
            size = size * float("inf")  # both ranks get it
        scaler.scale(size).backward()
        if number == 1 and distributed.get_rank() == 0 and sharded:
            next(model.parameters()).grad.view(-1)[0] = float("inf")  # as a shard of its own may overflow
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # of a shard
        scaler.step(optimizer)
        scaler.update()
    distributed.barrier()  # a rank that leaves first may keep the other one from its end
    distributed.destroy_process_group()


main("sharded" in sys.argv)
"""


def probed(folder: Path, *words: str) -> dict[str, Any]:
    """What `verifygate probe` says of a launcher's command."""
    (folder / "train.py").write_text(SCRIPT)
    scripts = Path(sysconfig.get_path("scripts"))
    done = subprocess.run(
        [scripts / "verifygate", "probe", "--format", "json", "--", scripts / words[0], *words[1:]],
        cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode in (0, 1, 2), done.stdout + done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.slow
def test_torchrun_with_replicas(tmp_path: Path) -> None:
    """DistributedDataParallel shares the inf out with the gradients: both ranks skip the step.

    Where the inf came from cannot be looked at while the ranks wait for each other, so nothing is called clean.
    """
    report = probed(tmp_path, "torchrun", "--nproc_per_node", "2", "train.py")

    assert (report["outcome"], report["findings"], report["trace"]["remarks"]) == ("NOT MEASURED", [], [])
    assert "without a cause that was found, step 2 first: the step talks to other processes" in report["reason"]
    seen = [(rank["rank"], rank["steps"], rank["skipped"], rank["scale_last"]) for rank in report["trace"]["ranks"]]
    assert seen == [(0, 3, 1, 512.0), (1, 3, 1, 512.0)]


@pytest.mark.slow
def test_torchrun_with_shards(tmp_path: Path) -> None:
    """FullyShardedDataParallel with the plain scaler: one rank skips, and each clips by the norm of its shard."""
    report = probed(tmp_path, "torchrun", "--nproc_per_node", "2", "train.py", "sharded")

    lines = SCRIPT.splitlines()
    wanted = [at for at, line in enumerate(lines, 1) if "# plain" in line or "# of a shard" in line]
    assert [(each["rule"], each["line"]) for each in report["findings"]] == [("AMP307", line) for line in wanted]
    assert {(rank["skipped"], rank["scale_last"]) for rank in report["trace"]["ranks"]} == {(0, 1024.0), (1, 512.0)}


def test_a_program_that_is_no_python_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "verifygate", "probe", "--", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "no Python interpreter" in done.stderr
