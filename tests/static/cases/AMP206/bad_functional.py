"""Gradients that torch.func computes of a loss without a scale, and the scaler divides them."""

import torch
from torch.func import functional_call, grad_and_value


class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.gs = torch.amp.GradScaler("cuda")

    def objective(self, weights, x, y):
        with torch.autocast("cuda", dtype=torch.float16):
            out = functional_call(self.net, weights, (x,))
        return torch.nn.functional.mse_loss(out.float(), y) * 0.5

    def iterate(self, loader):
        differentiate = grad_and_value(self.objective)
        for x, y in loader:
            weights = dict(self.net.named_parameters())
            found, value = differentiate(weights, x, y)
            self.gs.scale(value)
            for name, weight in weights.items():
                weight.grad = found[name]  # expect: AMP206
            self.gs.step(self.opt)
            self.gs.update()


def nested(net, opt, loader):
    gs = torch.amp.GradScaler("cuda")

    def cost(weights, x):
        with torch.autocast("cuda", dtype=torch.float16):
            return functional_call(net, weights, (x,)).float().pow(2).mean()

    for x in loader:
        weights = dict(net.named_parameters())
        found = torch.func.grad(cost)(weights, x)
        gs.scale(x.new_zeros(()))
        for name in weights:
            weights[name].grad = found[name].detach()  # expect: AMP206
        gs.step(opt)
        gs.update()
