"""Triton kernels multiply what they are given, in both directions."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def product(a, b, c, n: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


def launch(a, b):
    out = torch.empty_like(a)
    product[(1,)](a, b, out, 16)
    return out


class Mixing(torch.autograd.Function):  # expect: AMP109 likely
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return launch(x, weight)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return launch(grad, weight), launch(x, grad)


def train(model, optimizer, scaler, loader, weight):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(Mixing.apply(model(x), weight), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
