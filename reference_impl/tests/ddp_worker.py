"""Run by torchrun from test_ddp as `ddp_worker FOLDER`, on two ranks.

Trains twice, then breaks numbers on one rank; leaves FOLDER/fp32, FOLDER/fp16 and FOLDER/rank<N>.json.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from reference_impl.config import read_config
from reference_impl.data import Windows, make_items
from reference_impl.errors import NonFiniteError
from reference_impl.model import GPT
from reference_impl.precision import choose_precision
from reference_impl.tests.conftest import small_config
from reference_impl.train import make_optimizer, no_sync, run, train_step
from reference_impl.world import World

SMALL = [
    "--device=cpu", "--width=32", "--heads=2", "--layers=1", "--train_items=112", "--eval_items=51", "--batch_size=16",
    "--steps=6", "--warmup=2", "--log_every=1",
]  # fmt: skip
RUNS = {"fp32": SMALL, "fp16": [*SMALL, "--precision=fp16", "--init_scale=1073741824"]}  # the second overflows at first


def one_bad_step(precision_name: str, damage: Callable[[Tensor], Tensor], world: World) -> dict[str, object]:
    """One step whose loss is damaged on rank 1 alone."""
    cfg = small_config(precision=precision_name)
    precision = choose_precision("cpu", precision_name)
    torch.manual_seed(cfg.seed)
    model = GPT.from_config(cfg)
    if world.rank == 1:
        model.register_forward_hook(lambda _module, _inputs, loss: damage(loss))
    wrapped = DistributedDataParallel(model)
    before = [p.clone() for p in model.parameters()]
    optimizer, scaler = make_optimizer(model, cfg), precision.scaler(cfg.init_scale, cfg.growth_interval)
    data = Windows(make_items(cfg.train_items, cfg.eval_items)[0], cfg.batch_size, cfg.accumulation, cfg.seed)
    window = data.window(0, world.rank, world.size)
    try:
        outcome = (
            "skipped" if train_step(wrapped, optimizer, scaler, precision, window, cfg, world).skipped else "stepped"
        )
    except NonFiniteError:
        outcome = "stopped"
    unmoved = all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    return {"outcome": outcome, "unmoved": unmoved, "scale": scaler.get_scale()}


def reductions(world: World) -> int:
    """How many times DDP reduces one bucket in a window of three micro-batches, two of them under no_sync."""
    model = DistributedDataParallel(GPT(32, 1, 2))
    calls = 0

    def count(_state: object, bucket: torch.distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
        nonlocal calls
        calls += bucket.is_last()
        done: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done

    model.register_comm_hook(None, count)
    cfg = small_config(accumulation=3)
    data = Windows(make_items(cfg.train_items, cfg.eval_items)[0], cfg.batch_size, cfg.accumulation, cfg.seed)
    precision, optimizer = choose_precision("cpu", "fp32"), torch.optim.SGD(model.parameters(), lr=0.0)
    scaler = precision.scaler(1.0, 1)
    train_step(model, optimizer, scaler, precision, data.window(0, world.rank, world.size), cfg, world)
    assert no_sync(model.module).__class__.__name__ == "nullcontext"
    return calls


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    world = World.from_env()
    world.start(torch.device("cpu"))
    for name, arguments in RUNS.items():
        run(read_config([*arguments, f"--out_dir={folder / name}"]), choose_precision("cpu", name), world)
    report: dict[str, object] = {
        name: one_bad_step(name, lambda loss: loss * float("nan"), world) for name in ("fp32", "bf16", "fp16")
    }
    # Rank 0 sees nothing of this one: its loss is finite, and so are the gradients, which all ranks share.
    report["loss alone"] = one_bad_step("fp32", lambda loss: loss + float("inf"), world)
    report["reductions"] = reductions(world)
    world.stop()
    (folder / f"rank{world.rank}.json").write_text(json.dumps(report))
    sys.stdout.flush()
    os._exit(0)  # all is written: threads of torch's own, now and then, abort an interpreter that shuts down
