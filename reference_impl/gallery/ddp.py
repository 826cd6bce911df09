"""Data parallel in float16: the loss is made through the wrapper, and the ranks agree on scale and skipped steps.

torchrun --standalone --nproc_per_node=2 -m reference_impl.gallery.ddp
"""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from reference_impl.gallery import tasks


def train(steps: int) -> float:
    """Classify digits on all ranks; returns the held-out accuracy."""
    device = tasks.device()
    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))  # before anything is made: rank 0's device is the default
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        return train_rank(steps, device)
    finally:
        dist.destroy_process_group()


def train_rank(steps: int, device: torch.device) -> float:
    """The same weights on all ranks, and other images on each."""
    torch.manual_seed(0)
    (images, labels), held_out = tasks.digits(device)
    share = slice(dist.get_rank(), None, dist.get_world_size())
    model = DistributedDataParallel(tasks.ConvNet().to(device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler(device.type)  # gradients are averaged before it looks: all ranks skip together
    region = torch.autocast(device.type, dtype=torch.float16)

    for inputs, targets in tasks.batches((images[share], labels[share]), 32, steps):
        with region:
            loss = nn.functional.cross_entropy(model(inputs), targets)  # past the wrapper, nothing would be reduced
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    return tasks.accuracy(model.module, held_out, region)


if __name__ == "__main__":
    tasks.main(train, steps=200)
