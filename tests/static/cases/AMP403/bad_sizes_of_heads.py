"""A quotient of sizes is a number: it leaves the product of matrices half."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width)

    def forward(self, inputs, mask):
        query, key, value = self.project(inputs).chunk(3, -1)
        scores = query @ key.transpose(-2, -1) * (inputs.shape[-1] // self.heads) ** -0.5
        scores = scores.masked_fill(mask == 0, -1e9)  # expect: AMP403
        return scores.softmax(-1) @ value


def train(optimizer, scaler, batches):
    model = Attention(64, 8)
    for inputs, mask in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(inputs, mask).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
