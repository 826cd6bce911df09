import torch
from torch import nn


class Plain(nn.Module):
    def forward(self, x):
        return x * 2


class Perceptual(nn.Module):
    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, x):
        return x @ x.t()
