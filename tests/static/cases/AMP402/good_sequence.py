"""Heads whose last module gives float32, or something that is not known."""

import torch
from elsewhere import Whitening
from torch import nn


class Network(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.normed = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8))
        self.shares = nn.Sequential(nn.Linear(8, 8), nn.Softmax(dim=1), nn.Dropout(0.1))
        self.white = nn.Sequential(nn.Linear(8, 8), Whitening())
        self.given = nn.Sequential(*layers)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, inputs):
        normed, shares = self.normed(inputs), self.shares(inputs)
        one = normed / (normed.std(0) + 1e-9)
        two = torch.log(shares + 1e-9)
        white = self.white(inputs)
        given = self.given(inputs)
        return one, two, white / (white.std(0) + 1e-9), given / (given.std(0) + 1e-9)
