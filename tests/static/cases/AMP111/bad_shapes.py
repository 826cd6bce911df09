"""Operators of torch.library in regions: by their function, below torch.ops, with a Triton kernel, in a module."""

import torch
import triton
import triton.language as tl
from torch import nn
from torch.library import custom_op, triton_op, wrap_triton


@custom_op("mine::projected", mutates_args=())
def projected(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.linear(x, w)


def keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def of_projected(ctx, grad):
    x, w = ctx.saved_tensors
    return torch.matmul(grad, w), grad.t().mm(x)


torch.library.register_autograd("mine::projected", of_projected, setup_context=keep)


@triton.jit
def product(a, b, c, n: tl.constexpr):
    at = tl.arange(0, n)
    left, right = tl.load(a + at[:, None]), tl.load(b + at[None, :])
    tl.store(c + at[:, None], tl.dot(left, right))


@triton_op("mine::blocked", mutates_args={})
def blocked(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(a)
    wrap_triton(product)[(1,)](a, b, out, 16)
    return out


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 8))
        self.other = nn.Parameter(torch.randn(8, 8))

    def forward(self, x):
        x = blocked(x, self.other)  # expect: AMP111 likely
        return torch.ops.mine.projected(x, self.weight)  # expect: AMP111 likely


def train(net, opt, scaler, loader):
    head = Head()
    for x in loader:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            cost = head(net(x)).sum()
        scaler.scale(cost).backward()
        scaler.step(opt)
        scaler.update()
