"""Decorators that leave autograd on, and one that nobody can look into."""

import torch
from reporting import reported
from timing import timed
from torch import nn


@timed("evaluation")
def by_a_factory(loader):
    net = nn.Linear(3, 2)
    net.eval()
    total = 0.0
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(x), y)
        total += loss  # expect: PERF110
    return total


@reported
def by_a_library(loader):
    net = nn.Linear(3, 2)
    net.eval()
    total = 0.0
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(x), y)
        total += loss  # expect: PERF110 likely
    return total


print(by_a_factory([]), by_a_library([]))
