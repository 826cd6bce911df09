"""Runs inside the subject's interpreter: the examples that take two ranks, a process each, over gloo on this host.

Usage: python bootstrap.py proofs.ranks JOBS.json RESULTS.json RANK, as `start` does it. Every job has a process group
of its own, whose ranks find each other by a file, and end it together: nothing of one job is left in the next.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .observations import Instrument, Seen, replaced
from .training import run

if TYPE_CHECKING:
    import torch

START = Path(__file__).parents[1] / "bootstrap.py"
RANKS = 2
SECONDS = 60
"""How long a rank waits for another one in what they do together."""
MORE_THAN_ONCE = 5
"""How many such waits a rank may take in one job, when the other one has raised out of it."""


def lacking() -> str:
    """What this torch lacks to run ranks; empty where it lacks nothing."""
    import torch.distributed

    if not torch.distributed.is_available():
        return "this torch has no torch.distributed"
    return "" if torch.distributed.is_gloo_available() else "this torch has no gloo"


def start(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run the jobs on ranks of this host; a result is rank 0's, with those of all under `ranks`."""
    with tempfile.TemporaryDirectory(prefix="verifygate-") as folder:
        asked = Path(folder, "jobs.json")
        asked.write_text(json.dumps(jobs), encoding="utf-8")
        answers = [Path(folder, f"results{rank}.json") for rank in range(RANKS)]
        environment = {**os.environ, "GLOO_SOCKET_IFNAME": _loopback()}
        told = [answer.with_suffix(".txt") for answer in answers]
        with contextlib.ExitStack() as stack:
            ranks = [
                subprocess.Popen(
                    [sys.executable, "-P", str(START), "proofs.ranks", str(asked), str(answer), str(rank)],
                    env=environment,
                    stderr=stack.enter_context(told[rank].open("wb")),
                )
                for rank, answer in enumerate(answers)
            ]
            ended = [rank.wait() for rank in ranks]
        if any(ended):
            last = told[ended.index(max(ended, key=abs))].read_text(encoding="utf-8", errors="replace").strip()
            raise SystemExit(f"the ranks ended with exit codes {ended}: {last.splitlines()[-1] if last else 'no word'}")
        seen = [json.loads(answer.read_text(encoding="utf-8")) for answer in answers]
    return [_joined(ranks_of) for ranks_of in zip(*seen, strict=True)]


def _joined(seen: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        **seen[0],
        "error": next((one["error"] for one in seen if one["error"]), None),
        "finite": all(one["finite"] for one in seen),
        "ranks": seen,
    }


def _loopback() -> str:
    """The interface that leads nowhere but to this host; left to itself, gloo asks for the host's name instead."""
    return next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "lo")


def main(arguments: Sequence[str]) -> NoReturn:
    """Run every job as one of the ranks, and end the process at once: gloo's threads may abort it on its way out."""
    import torch
    import torch._dynamo
    from torch import distributed

    jobs_path, results_path, rank = Path(arguments[0]), Path(arguments[1]), int(arguments[2])
    torch.set_num_threads(1)
    runs = []
    for number, job in enumerate(json.loads(jobs_path.read_text(encoding="utf-8"))):
        store = distributed.FileStore(str(jobs_path.parent / f"store{number}"), RANKS)  # type: ignore[attr-defined]
        waits = timedelta(seconds=SECONDS)
        distributed.init_process_group("gloo", store=store, rank=rank, world_size=RANKS, timeout=waits)
        instruments: list[Instrument] = [watch]
        if job["inf_at"] and rank == 0:
            instruments.append(functools.partial(poison, number=job["inf_at"]))
        runs.append(run(job, rank, instruments))
        store.set(f"done by {rank}", "")
        store.wait([f"done by {each}" for each in range(RANKS)], MORE_THAN_ONCE * waits)
        distributed.destroy_process_group()  # before the others are done, it would break up what they are still at
    results_path.write_text(json.dumps(runs), encoding="utf-8")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def watch(stack: contextlib.ExitStack, seen: Seen, _model: torch.nn.Module) -> None:
    """Note the norms that gradients are clipped by, sharded scalers' scales, and all-reduces of gradients."""
    import torch
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
    from torch.distributed.tensor import DTensor
    from torch.nn.parallel import DistributedDataParallel

    def noting(clip: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def noted(*arguments: Any, **keywords: Any) -> torch.Tensor:
            norm = clip(*arguments, **keywords)
            seen.norms.append(float(norm.full_tensor() if isinstance(norm, DTensor) else norm))
            return norm

        return noted

    for owner in (torch.nn.utils, FullyShardedDataParallel):
        clip = owner.clip_grad_norm_
        stack.enter_context(replaced(owner, "clip_grad_norm_", noting(clip)))
    seen.watch_scale(stack, ShardedGradScaler)
    begin = DistributedDataParallel.__init__

    def counted(wrapped: DistributedDataParallel, *arguments: Any, **keywords: Any) -> None:
        begin(wrapped, *arguments, **keywords)
        wrapped.register_comm_hook(seen, _counted_all_reduce)

    stack.enter_context(replaced(DistributedDataParallel, "__init__", counted))


def _counted_all_reduce(seen: Seen, bucket):  # type: ignore[no-untyped-def]
    """What DistributedDataParallel does with a bucket of gradients by itself. It refuses annotations given as text."""
    from torch import distributed

    seen.reductions += 1
    shares = bucket.buffer().div_(RANKS)
    return distributed.all_reduce(shares, async_op=True).get_future().then(lambda sent: sent.value()[0])


def poison(stack: contextlib.ExitStack, _seen: Seen, model: torch.nn.Module, *, number: int) -> None:
    """Write inf into one gradient of the forward with this number, before it is shared out: one rank's part gets it."""
    import torch

    count = 0
    hooked: list[Any] = []

    def overflow(gradient: torch.Tensor) -> torch.Tensor:
        hooked[0].remove()  # some ways to shard put the same tensor there again
        gradient = gradient.clone()
        gradient.view(-1)[0] = float("inf")
        return gradient

    def forward(layer: torch.nn.Module, _inputs: object) -> None:
        nonlocal count
        count += 1
        weight = layer.weight  # a sharded model puts the whole weight there while it computes
        if count == number and isinstance(weight, torch.Tensor) and weight.requires_grad:
            hooked[:] = [weight.register_hook(overflow)]  # type: ignore[no-untyped-call]

    stack.callback(next(model.children()).register_forward_pre_hook(forward).remove)
