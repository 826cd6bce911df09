"""There is a scaler on CUDA; the region computes in float16 on every accelerator that this program can use."""

from contextlib import nullcontext
from functools import partial

import torch


class Scale:
    def __init__(self):
        self.scaler = torch.amp.GradScaler()

    def __call__(self, loss, optimizer):
        self.scaler.scale(loss).backward()
        self.scaler.step(optimizer)
        self.scaler.update()


def epoch(model, loss_fn, optimizer, batches, region=nullcontext, loss_scaler=None):
    def forward(inputs, targets):
        with region():
            return loss_fn(model(inputs), targets)

    def backward(loss):
        if loss_scaler is not None:
            loss_scaler(loss, optimizer)
        else:
            loss.backward()
            optimizer.step()

    for inputs, targets in batches:
        optimizer.zero_grad()
        backward(forward(inputs, targets))


def main(args, model, loss_fn, optimizer, batches):
    device = torch.device(args.device)
    if device.type == "npu":
        import torch_npu

        print(torch_npu.__version__)
    region, loss_scaler = nullcontext, None
    if args.amp:
        region = partial(torch.autocast, device_type=device.type, dtype=torch.float16)
        if device.type == "cuda":
            loss_scaler = Scale()  # expect: AMP305 likely
    epoch(model, loss_fn, optimizer, batches, region=region, loss_scaler=loss_scaler)
