"""Sharded (FSDP2) in bfloat16: the policy casts, no region does, and nothing is scaled.

torchrun --standalone --nproc_per_node=2 -m reference_impl.gallery.fsdp_bf16
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
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)  # 8 bits would not do
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)  # after sharding: it is the shards that it steps

    for inputs, following in tasks.batches((tokens[share], targets[share]), 16, steps):
        scores = model(inputs).float()  # half comes out: the loss is computed in float32
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), following.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return tasks.accuracy(model, held_out, torch.no_grad())


if __name__ == "__main__":
    tasks.main(train, steps=200)
