"""The constructor works the angles out, in float32: the frequencies are read again for longer inputs only."""

import torch
from torch import nn


class Rotation(nn.Module):
    def __init__(self, width, longest=2048):
        super().__init__()
        steps = torch.arange(0, width, 2).float() / width
        self.register_buffer("turns", 1.0 / (10000.0**steps))
        self.tabulate(longest)

    def tabulate(self, length):
        self.length = length
        angles = torch.outer(torch.arange(length).float(), self.turns)
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)

    def forward(self, states):
        if states.shape[1] > self.length:
            self.tabulate(states.shape[1])
        return states * self.cosine[: states.shape[1]] + states.flip(-1) * self.sine[: states.shape[1]]


class Stretched(Rotation):
    def tabulate(self, length):
        self.length = length
        angles = torch.einsum("i,j->ij", torch.arange(length).float() / 4, self.turns)
        self.register_buffer("cosine", angles.cos(), persistent=False)


def build():
    return Rotation(64).to(torch.bfloat16), Stretched(64).half()
