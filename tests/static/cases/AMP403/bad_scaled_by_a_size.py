import torch
from torch import nn


class BySubscript(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x, mask):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(mask == 0, -1e9)  # expect: AMP403
        return scores.softmax(-1) @ v


class Unpacked(nn.Module):
    def forward(self, q, k, v, mask):
        batch, length, width = q.shape
        scores = q @ k.transpose(-1, -2) * width ** -0.5
        return scores.masked_fill(mask == 0, -1e9).softmax(-1) @ v  # expect: AMP403


class BySize(nn.Module):
    def forward(self, q, k, v, mask):
        scores = torch.matmul(q, k.mT) / (q.size(-1) ** 0.5)
        return scores.masked_fill(mask == 0, -1e9).softmax(-1) @ v  # expect: AMP403


def train(batches, width):
    layers = BySubscript(width), Unpacked(), BySize()
    for x, mask in batches:
        with torch.autocast("cuda"):
            layers[0](x, mask)
            layers[1](x, x, x, mask)
            layers[2](x, x, x, mask)


class Converted(nn.Module):
    def forward(self, q, k, mask):
        scores = q @ k.mT
        scores.masked_fill_(mask, float(-1e6))  # expect: AMP403
        return scores.softmax(-1)


def convert(batches):
    converted = Converted()
    for x, mask in batches:
        with torch.autocast("cuda"):
            converted(x, x, mask)
