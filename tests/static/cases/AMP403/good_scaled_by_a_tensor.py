import torch
from torch import nn


class Learned(nn.Module):
    def __init__(self):
        super().__init__()
        self.heat = nn.Parameter(torch.ones(1))

    def forward(self, q, k, mask):
        scores = q @ k.transpose(-1, -2) / self.heat ** 2
        return scores.masked_fill(mask == 0, -1e9).softmax(-1)


def train(batches):
    learned = Learned()
    for x, mask in batches:
        with torch.autocast("cuda"):
            learned(x, x, mask)
