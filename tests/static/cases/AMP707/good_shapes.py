"""Tensors, copies, models that are not trained, and states that are loaded again."""

import copy

import torch
from torch import nn


def tensors(net, batches):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        half = batch.half()
        batch = half.float()
        net(batch).mean().backward()
        opt.step()


def a_copy(batches):
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()
        small = copy.deepcopy(net).half()
        small(batch.half())
        small.float()


def not_trained(net, batch):
    net.half()
    out = net(batch.half())
    net.float()
    return out


def loaded_again(batches):
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()
        kept = copy.deepcopy(net.state_dict())
        net.bfloat16()
        net(batch.bfloat16())
        net.float()
        net.load_state_dict(kept)


def only_back(batches):
    net = nn.Linear(4, 1).half()
    net.float()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        net(batch).mean().backward()
        opt.step()
