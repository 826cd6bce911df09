"""Sharded (FSDP2) in float16: the policy casts, no region does, and one plain GradScaler looks at all shards.

torchrun --standalone --nproc_per_node=2 -m reference_impl.gallery.fsdp_fp16
"""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from reference_impl.gallery import tasks


def train(steps: int) -> float:
    """Predict characters on all ranks; returns the held-out accuracy."""
    device = tasks.device()
    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))  # before anything is made: rank 0's device is the default
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        return train_rank(steps, device)
    finally:
        dist.destroy_process_group()


def train_rank(steps: int, device: torch.device) -> float:
    """Each rank keeps a part of the float32 weights, of their gradients and of the optimizer's state."""
    torch.manual_seed(0)
    (tokens, targets), held_out = tasks.text(device)
    share = slice(dist.get_rank(), None, dist.get_world_size())
    model = tasks.CharGPT().to(device)
    policy = MixedPrecisionPolicy(param_dtype=torch.float16, reduce_dtype=torch.float32)  # sums in half lose precision
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)  # after sharding: it is the shards that it steps
    scaler = torch.amp.GradScaler(device.type)

    for inputs, following in tasks.batches((tokens[share], targets[share]), 16, steps):
        scores = model(inputs).float()  # half comes out: the loss is computed in float32
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), following.flatten())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    return tasks.accuracy(model, held_out, torch.no_grad())


if __name__ == "__main__":
    tasks.main(train, steps=200)
