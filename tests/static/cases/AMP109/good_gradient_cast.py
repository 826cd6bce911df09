"""What runs once more is given float32, as its weights are."""

import torch
from torch import nn


class Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, hidden):
        ctx.block = block
        ctx.save_for_backward(hidden)
        with torch.no_grad():
            return block(hidden)

    @staticmethod
    def backward(ctx, outgoing):
        hidden = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            again = ctx.block(hidden.float())
        again.backward(outgoing.float())
        return None, hidden.grad


def train(model, block, optimizer, scaler, loader):
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(Recomputed.apply(block, model(inputs)), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
