"""What steps is told by what it is, whatever it is called."""

import contextlib

import torch
from torch.nn.parallel import DistributedDataParallel


def train(net, batches, length):
    ddp = DistributedDataParallel(net)
    adam = torch.optim.AdamW(net.parameters())
    gs = torch.amp.GradScaler("cuda")
    for number, (inputs, targets) in enumerate(batches):
        last = (number + 1) % length == 0
        with ddp.no_sync() if last else contextlib.nullcontext():  # expect: AMP218
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(ddp(inputs), targets) / length
            gs.scale(loss).backward()
        if last:
            gs.step(adam)
            gs.update()
            adam.zero_grad(set_to_none=True)
