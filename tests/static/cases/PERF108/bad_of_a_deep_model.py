"""A span around a model of the project, whose parts call each other further down than a few levels."""

import time

import torch


def normalised(inputs):
    return inputs.masked_fill(inputs > 1, float("-inf")) / torch.linalg.vector_norm(inputs)


def attended(inputs):
    return normalised(inputs).softmax(-1)


class Attention(torch.nn.Module):
    def forward(self, inputs):
        return attended(inputs)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, inputs):
        return self.attention(inputs)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, inputs):
        return self.block(inputs)


class Logged(torch.nn.Module):
    def forward(self, inputs):
        return normalised(inputs) if told_of(inputs) else inputs


def told_of(inputs):
    return largest(inputs) > 1


def largest(inputs):
    return highest(inputs)


def highest(inputs):
    return value_of(inputs.max())


def value_of(number):
    return number.item()


def forward_seconds(loader):
    network, spent = Network().cuda(), 0.0
    for inputs in loader:
        begin = time.perf_counter()
        with torch.autocast("cuda"):
            network(inputs.cuda())
        spent += time.perf_counter() - begin  # expect: PERF108
    return spent


def waits_deep_inside(loader):
    network, spent = Logged().cuda(), 0.0
    for inputs in loader:
        begin = time.perf_counter()
        with torch.autocast("cuda"):
            network(inputs.cuda())
        spent += time.perf_counter() - begin
    return spent


def clipped(model, limit):
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
    if torch.isinf(norm):
        return norm, True
    return norm, False


def waits_where_a_condition_asks(loader, loss_fn, optimizer):
    network, spent = Network().cuda(), 0.0
    for inputs in loader:
        begin = time.perf_counter()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_fn(network(inputs.cuda()))
        optimizer.zero_grad()
        loss.backward()
        clipped(network, 1.0)
        optimizer.step()
        spent += time.perf_counter() - begin
    return spent
