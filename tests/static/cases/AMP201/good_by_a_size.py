"""Gradients are multiplied by what has no scale in it, or with the scale reckoned in, or after unscaling."""

import torch


@torch.no_grad()
def averaged(parameters, workers):
    for parameter in parameters:
        parameter.grad.div_(workers)
        parameter.grad.mul_(parameter.norm())


@torch.no_grad()
def masked(parameters):
    for parameter in parameters:
        parameter.grad.mul_((parameter.grad.norm(dim=0) > 0).float())
        parameter.grad.mul_(parameter.grad.abs().argsort().bool())


@torch.no_grad()
def balanced(first, second):
    for one, other in zip(first, second):
        factor = one.grad.norm() / (other.grad.norm() + 1e-6)
        other.grad.mul_(factor)


@torch.no_grad()
def limited(parameters, scaler, limit):
    for parameter in parameters:
        steep = parameter.grad.norm() / scaler.get_scale()
        parameter.grad.mul_((limit / (steep + 1e-6)).clamp(max=1.0))


@torch.no_grad()
def adaptive(parameters, limit=0.01):
    for parameter in parameters:
        parameter.grad.mul_((limit / (parameter.grad.norm() + 1e-6)).clamp(max=1.0))


def train(model, loss_fn, optimizer, loader, workers):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        averaged(model.parameters(), workers)
        masked(model.parameters())
        balanced(model.body.parameters(), model.head.parameters())
        limited(model.parameters(), scaler, 1.0)
        scaler.unscale_(optimizer)
        adaptive(model.parameters())
        scaler.step(optimizer)
        scaler.update()
