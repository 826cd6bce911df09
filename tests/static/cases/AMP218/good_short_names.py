"""What steps is told by what it is, and a step of something else is none."""

import contextlib

import torch
from torch.nn.parallel import DistributedDataParallel


def train(net, batches, length, bar):
    ddp = DistributedDataParallel(net)
    adam = torch.optim.AdamW(net.parameters())
    gs = torch.amp.GradScaler("cuda")
    for number, (inputs, targets) in enumerate(batches):
        last = (number + 1) % length == 0
        with contextlib.nullcontext() if last else ddp.no_sync():
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(ddp(inputs), targets) / length
            gs.scale(loss).backward()
        if not last:
            bar.step(1)
        else:
            gs.step(adam)
            gs.update()
            adam.zero_grad(set_to_none=True)
