"""The flag is set before the forward that reads it."""

import torch
from torch.nn.parallel import DistributedDataParallel


def before(net, optimizer, scaler, batches, window):
    network = DistributedDataParallel(net)
    for number, inputs in enumerate(batches, 1):
        network.require_backward_grad_sync = number % window == 0
        with torch.autocast("cuda"):
            loss = network(inputs).mean() / window
        scaler.scale(loss).backward()
        if number % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def for_the_next_one(net, optimizer, scaler, batches, window):
    network = DistributedDataParallel(net)
    network.require_backward_grad_sync = window == 1
    for number, inputs in enumerate(batches, 1):
        with torch.autocast("cuda"):
            loss = network(inputs).mean() / window
        scaler.scale(loss).backward()
        network.require_backward_grad_sync = (number + 1) % window == 0
        if number % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def of_another(net, other, optimizer, scaler, batches, window):
    network, second = DistributedDataParallel(net), DistributedDataParallel(other)
    for number, inputs in enumerate(batches, 1):
        network.require_backward_grad_sync = second.require_backward_grad_sync = number % window == 0
        with torch.autocast("cuda"):
            features = network(inputs)
        second.require_backward_grad_sync = number % window == 0
        with torch.autocast("cuda"):
            loss = second(features).mean() / window
        scaler.scale(loss).backward()
        if number % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
