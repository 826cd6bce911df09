"""Registered for autocast, cast inside, cast by who calls, elementwise, without a backward, or outside of regions."""

import torch
from torch.library import custom_op


def keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def of_products(ctx, grad):
    x, w = ctx.saved_tensors
    return grad @ w, grad.t() @ x


@custom_op("mine::registered", mutates_args=())
def registered(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w.t()


registered.register_autograd(of_products, setup_context=keep)
torch.library.register_autocast("mine::registered", "cuda", torch.float16)


@custom_op("mine::casting", mutates_args=())
def casting(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x.float() @ w.float().t()


casting.register_autograd(of_products, setup_context=keep)


def of_casting(ctx, grad):
    x, w = ctx.saved_tensors
    return grad @ w.to(grad.dtype), grad.t() @ x.to(grad.dtype)


@custom_op("mine::casts_back", mutates_args=())
def casts_back(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w.t()


casts_back.register_autograd(of_casting, setup_context=keep)


@custom_op("mine::elementwise", mutates_args=())
def elementwise(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(w)


elementwise.register_autograd(lambda ctx, grad: (grad, grad), setup_context=keep)


@custom_op("mine::forward_alone", mutates_args=())
def forward_alone(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w.t()


@custom_op("mine::plain", mutates_args=())
def plain(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w.t()


plain.register_autograd(of_products, setup_context=keep)


def train(net, weight, opt, scaler, loader):
    for x in loader:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            out = registered(net(x), weight)
            out = casts_back(casting(out, weight), weight)
            out = forward_alone(elementwise(out, weight), weight)
            out = plain(out.float(), weight)
        cost = plain(out, weight).sum()
        scaler.scale(cost).backward()
        scaler.step(opt)
        scaler.update()
