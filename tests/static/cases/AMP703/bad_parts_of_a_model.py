"""Casts of whole models that hold decay rates in logarithms, or a layer that chooses experts."""

import torch
from torch import nn
from torch.nn import functional as F


class Decaying(nn.Module):
    def __init__(self, width, states):
        super().__init__()
        rates = torch.arange(1, states + 1, dtype=torch.float32).repeat(width, 1)
        decay_log = torch.log(rates)
        self.decay = nn.Parameter(decay_log)
        self.enter = nn.Linear(width, width)

    def forward(self, inputs, state):
        kept = torch.exp(-torch.exp(self.decay.float()))
        return kept * state + self.enter(inputs).unsqueeze(-1)


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Decaying(8, 16) for _ in range(2)])

    def forward(self, inputs, state):
        for block in self.blocks:
            state = block(inputs, state)
        return state


class Experts(nn.Module):
    def __init__(self, width, count):
        super().__init__()
        self.choice = nn.Linear(width, count, bias=False)
        self.experts = nn.ModuleList([nn.Linear(width, width) for _ in range(count)])

    def forward(self, inputs):
        shares = F.softmax(self.choice(inputs), dim=-1, dtype=torch.float32)
        weights, chosen = torch.topk(shares, 2, dim=-1)
        result = torch.zeros_like(inputs)
        for number in range(len(self.experts)):
            rows, places = (chosen == number).nonzero(as_tuple=True)
            result[rows] += weights[rows, places, None] * self.experts[number](inputs[rows])
        return result


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Experts(8, 4)

    def forward(self, inputs):
        return self.layer(inputs)


def half_stack():
    model = Stack()
    model.half()  # expect: AMP703 likely
    return model


def bfloat_stack(inputs, state):
    model = Stack().to(torch.bfloat16)  # expect: AMP703 likely
    for block in model.blocks:
        block.decay.data = block.decay.data.float()  # what was rounded stays rounded
    return model(inputs, state)


def half_experts():
    return Sparse().cuda().to(dtype=torch.bfloat16)  # expect: AMP703 likely
