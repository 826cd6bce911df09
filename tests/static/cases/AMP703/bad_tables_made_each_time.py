"""A method that the constructor runs too, and that each forward runs again: after the cast, with what is rounded."""

import torch
from torch import nn


class Rotation(nn.Module):
    def __init__(self, width, longest=2048):
        super().__init__()
        steps = torch.arange(0, width, 2).float() / width
        self.register_buffer("turns", 1.0 / (10000.0**steps))
        self.tabulate(longest)

    def tabulate(self, length):
        angles = torch.outer(torch.arange(length).float(), self.turns)
        self.register_buffer("cosine", angles.cos(), persistent=False)

    def forward(self, states):
        self.tabulate(states.shape[1])
        return states * self.cosine


class Late(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("turns", 1.0 / (10000.0 ** (torch.arange(0, width, 2).float() / width)))
        self.cosine = None

    def tabulate(self, length):
        return torch.outer(torch.arange(length).float(), self.turns).cos()

    def forward(self, states):
        if self.cosine is None:
            self.cosine = self.tabulate(states.shape[1])
        return states * self.cosine


def build():
    rotation = Rotation(64).to(torch.bfloat16)  # expect: AMP703
    late = Late(64).half()  # expect: AMP703
    return rotation, late
