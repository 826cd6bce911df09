"""Counts, sums, averages and gradients in half precision."""

import copy

import torch
from torch import nn


def counted(net, batches):
    hits = torch.tensor(0.0, dtype=torch.bfloat16)
    for inputs, labels in batches:
        hits += (net(inputs).argmax(1) == labels).sum()  # expect: AMP702
    return hits


def summed_by_a_method(net, batches, device):
    total = torch.zeros(1, device=device).half()
    for inputs in batches:
        total.add_(net(inputs).mean().detach())  # expect: AMP702
    return total


class Meter:
    def __init__(self):
        self.total = torch.zeros((), dtype=torch.float16)

    def update(self, value):
        self.total += value  # expect: AMP702


class Metric(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1, dtype=torch.bfloat16))

    def forward(self, values):
        self.seen += values.numel()  # expect: AMP702
        return self.seen


def average(held, net, decay=0.999):
    for one, other in zip(held.parameters(), net.parameters(), strict=True):
        one.data.mul_(decay).add_(other.data, alpha=1 - decay)  # expect: AMP702


def drawn_near(held, net, share):
    with torch.no_grad():
        for (_, one), other in zip(held.named_parameters(), net.parameters(), strict=True):
            one.lerp_(other, share)  # expect: AMP702 likely


def mixed(held, net):
    for name, one in held.state_dict().items():
        one.copy_(one * 0.9999 + net.state_dict()[name] * 0.0001)  # expect: AMP702


def average_in_float16(held, net, decay=0.999):
    for one, other in zip(held.parameters(), net.parameters(), strict=True):
        one.data.mul_(decay).add_(other.data, alpha=1 - decay)  # expect: AMP702 likely


def averaged(batches, share):
    net = nn.Linear(4, 1)
    held = copy.deepcopy(net).bfloat16()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()
        opt.zero_grad()
        average(held, net)
        drawn_near(held, net, share)
        drawn_near(held, net, 0.0005)
        mixed(held, net)


def averaged_in_float16(batches):
    net = nn.Linear(4, 1)
    held = copy.deepcopy(net).half()
    for batch in batches:
        net(batch).mean().backward()
        average_in_float16(held, net)


def many_micro_batches(batches, every):
    net = nn.Linear(4, 1).to(torch.bfloat16)  # expect: AMP702 likely
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for number, batch in enumerate(batches):
        loss = net(batch).mean() / every
        loss.backward()
        if (number + 1) % every == 0:
            opt.step()
            opt.zero_grad()


def in_two_statements(batches, device):
    zero = torch.zeros(1, device=device)
    total = zero.half()
    for batch in batches:
        total += batch.sum()  # expect: AMP702
    return total
