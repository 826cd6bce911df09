"""Evaluation, gradients that are averaged by hand, and what is wrapped only somewhere else."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def evaluates(batches, device):
    model = DistributedDataParallel(nn.Linear(8, 1).to(device))
    optimizer = torch.optim.AdamW(model.parameters())
    for inputs, targets in batches:
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad(), torch.autocast(device, dtype=torch.float16):
        return [model.module(inputs) for inputs, _ in batches]


def penalises_beside_the_forward(batches, device):
    model = DistributedDataParallel(nn.Linear(8, 1).to(device))
    optimizer = torch.optim.AdamW(model.parameters())
    for inputs, targets in batches:
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(model(inputs), targets) + model.module(inputs * 2).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def averages_by_hand(batches, device):
    model = DistributedDataParallel(nn.Linear(8, 1).to(device))
    optimizer = torch.optim.AdamW(model.parameters())
    for inputs, targets in batches:
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(model.module(inputs), targets)
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)
        optimizer.step()
        optimizer.zero_grad()


def wraps_if_asked(batches, device, distributed):
    model = net = nn.Linear(8, 1).to(device)
    if distributed:
        model = DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(net.parameters())
    for inputs, targets in batches:
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
