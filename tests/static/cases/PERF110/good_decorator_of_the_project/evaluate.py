"""Evaluations that a decorator of the project turns autograd off for."""

import torch
from switches import Quiet, evaluation_mode, quietly, twice
from torch import nn


def sum_up(net, loader):
    total = 0.0
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(x), y)
        total += loss
    return total


@evaluation_mode()
def by_a_factory(loader):
    net = nn.Linear(3, 2)
    net.eval()
    total = 0.0
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(x), y)
        total += loss
    return total


@quietly
def by_a_wrapper(loader):
    net = nn.Linear(3, 2)
    net.eval()
    total = 0.0
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(x), y)
        total += loss
    return total


@twice
def by_two(loader):
    net = nn.Linear(3, 2)
    net.eval()
    total = 0.0
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(x), y)
        total += loss
    return total


@Quiet()
def by_an_object(loader):
    net = nn.Linear(3, 2)
    net.eval()
    total = 0.0
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(x), y)
        total += loss
    return total


@evaluation_mode(new=False)
def above(loader):
    return sum_up(nn.Linear(3, 2), loader)


print(by_a_factory([]), by_a_wrapper([]), by_two([]), by_an_object([]), above([]))
