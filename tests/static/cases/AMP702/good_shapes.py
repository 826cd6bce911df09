"""Sums in float32, of a few terms, in Python; averages that move; and gradients that are cleared each time."""

import copy

import torch
from torch import nn


def in_float32(net, batches):
    hits = torch.zeros((), dtype=torch.float32)
    for inputs, labels in batches:
        hits += (net(inputs).argmax(1) == labels).sum()
    return hits


def in_python(net, batches):
    hits = 0
    for inputs, labels in batches:
        hits += (net(inputs.to(torch.bfloat16)).argmax(1) == labels).sum().item()
    return hits


def reset_in_each(net, batches):
    for inputs in batches:
        offset = torch.zeros(1, dtype=torch.bfloat16)
        offset += net(inputs).mean()
    return offset


class Experts(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.experts = nn.ModuleList(experts)

    def forward(self, values):
        out = torch.zeros(values.shape, dtype=torch.bfloat16)
        for expert in self.experts:
            out += expert(values)
        return out


def made_float_again(net, batches):
    total = torch.zeros(1, dtype=torch.bfloat16)
    total = torch.zeros(1)
    for inputs in batches:
        total += net(inputs).mean().detach()
    return total


def average(held, net, decay=0.9999):
    for one, other in zip(held.parameters(), net.parameters(), strict=True):
        one.mul_(decay).add_(other, alpha=1 - decay)


def fast_average(held, net):
    for one, other in zip(held.parameters(), net.parameters(), strict=True):
        one.lerp_(other, 0.1)


def average_by(held, net, settings):
    for one, other in zip(held.parameters(), net.parameters(), strict=True):
        one.data.mul_(1.0 - settings.share).add_(other.data, alpha=settings.share)


def averaged(batches, settings):
    net = nn.Linear(4, 1)
    held, fast = copy.deepcopy(net), copy.deepcopy(net).bfloat16()
    told = copy.deepcopy(net).bfloat16()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()
        opt.zero_grad()
        average(held, net)
        fast_average(fast, net)
        average_by(told, net, settings)
    return held.half()


def few_micro_batches(batches):
    net = nn.Linear(4, 1).to(torch.bfloat16)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for number, batch in enumerate(batches):
        net(batch).mean().backward()
        if (number + 1) % 4 == 0:
            opt.step()
            opt.zero_grad()


def added_up_in_float32(batches, every):
    net = nn.Linear(4, 1).to(torch.bfloat16)
    sums = [torch.zeros(each.shape) for each in net.parameters()]
    for number, batch in enumerate(batches):
        net(batch).mean().backward()
        for total, weight in zip(sums, net.parameters(), strict=True):
            total += weight.grad
            weight.grad = None
        if (number + 1) % every == 0:
            print(sums)
