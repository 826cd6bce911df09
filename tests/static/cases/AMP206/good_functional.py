"""Gradients that torch.func computes of a scaled loss, multiplied with the scale, or stepped without a scaler."""

import torch
from torch.func import functional_call, grad, grad_and_value


def scaled_inside(net, opt, loader):
    gs = torch.amp.GradScaler("cuda")

    def cost(weights, x):
        with torch.autocast("cuda", dtype=torch.float16):
            return gs.scale(functional_call(net, weights, (x,)).float().mean())

    for x in loader:
        weights = dict(net.named_parameters())
        found, _ = grad_and_value(cost)(weights, x)
        for name, weight in weights.items():
            weight.grad = found[name]
        gs.step(opt)
        gs.update()


def scaled_by_argument(net, opt, loader):
    gs = torch.amp.GradScaler("cuda")

    def cost(weights, x, factor):
        with torch.autocast("cuda", dtype=torch.float16):
            return functional_call(net, weights, (x,)).float().mean() * factor

    for x in loader:
        gs.scale(x.new_zeros(()))
        weights = dict(net.named_parameters())
        found = grad(cost)(weights, x, gs.get_scale())
        for name, weight in weights.items():
            weight.grad = found[name]
        gs.step(opt)
        gs.update()


def scaled_behind(net, opt, loader):
    gs = torch.amp.GradScaler("cuda")

    def cost(weights, x):
        return functional_call(net, weights, (x,)).float().mean()

    for x in loader:
        gs.scale(x.new_zeros(()))
        weights = dict(net.named_parameters())
        found = grad(cost)(weights, x)
        for name, weight in weights.items():
            weight.grad = found[name] * gs.get_scale()
        gs.step(opt)
        gs.update()


def without(net, opt, loader, loss_of):
    gs = torch.amp.GradScaler("cuda")
    for x in loader:
        weights = dict(net.named_parameters())
        found = grad(lambda weights: functional_call(net, weights, (x,)).mean())(weights)
        for name, weight in weights.items():
            weight.grad = found[name]
        opt.step()
        opt.zero_grad()
        gs.scale(net(x).mean()).backward()
        gs.step(opt)
        gs.update()
        opt.zero_grad()


def not_in_sight(net, opt, loader, loss_of):
    gs = torch.amp.GradScaler("cuda")
    for x in loader:
        weights = dict(net.named_parameters())
        found = grad(loss_of)(weights, x)
        for name, weight in weights.items():
            weight.grad = found[name]
        gs.step(opt)
        gs.update()


def scaled_by_the_scaler(net, opt, loader):
    gs = torch.amp.GradScaler("cuda")

    def cost(weights, x):
        return functional_call(net, weights, (x,)).float().mean()

    for x in loader:
        weights = dict(net.named_parameters())
        found = grad(cost)(weights, x)
        for name, weight in weights.items():
            weight.grad = gs.scale(found[name])
        gs.step(opt)
        gs.update()
