"""Masks that are added: a cast makes the zeros and ones half, or the lowest number comes twice."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.project = nn.Linear(width, 3 * width)

    def forward(self, inputs, keep):
        query, key, value = self.project(inputs).chunk(3, -1)
        scores = query @ key.transpose(-2, -1)
        scores = scores + (1.0 - keep.half()) * -1e9  # expect: AMP403 likely
        return scores.softmax(-1) @ value


class Biased(Attention):
    def forward(self, inputs, keep):
        query, key, value = self.project(inputs).chunk(3, -1)
        scores = torch.matmul(query, key.transpose(-2, -1))
        hidden = (keep == 0).to(scores.dtype)
        bias = hidden[:, None, :] * -1e9
        return (scores + bias).softmax(-1) @ value  # expect: AMP403 likely


class Subtracted(Attention):
    def forward(self, inputs, keep):
        query, key, value = self.project(inputs).chunk(3, -1)
        scores = query @ key.transpose(-2, -1)
        gone = keep.logical_not().type_as(scores)
        return torch.softmax(scores - 1e6 * gone, dim=-1) @ value  # expect: AMP403 likely


class Twice(Attention):
    def forward(self, inputs, keep):
        query, key, value = self.project(inputs).chunk(3, -1)
        scores = query @ key.transpose(-2, -1)
        size, lowest = scores.shape[-1], torch.finfo(scores.dtype).min
        later = torch.full((size, size), torch.finfo(scores.dtype).min, dtype=scores.dtype).triu(1)
        padded = (1 - keep) * torch.finfo(scores.dtype).min
        return (scores + later + padded).softmax(-1) @ value, lowest  # expect: AMP403 likely


class Joined(Attention):
    def forward(self, inputs, keep):
        query, key, value = self.project(inputs).chunk(3, -1)
        low = torch.finfo(torch.float16).min
        first = torch.zeros_like(keep).masked_fill(keep == 0, low)
        second = keep * low
        both = first + second  # expect: AMP403 likely
        return (query @ key.transpose(-2, -1) + both).softmax(-1) @ value


def train(model, optimizer, scaler, batches):
    for inputs, keep in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(inputs, keep).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def main(optimizer, scaler, batches):
    for kind in (Attention, Biased, Subtracted, Twice, Joined):
        train(kind(64), optimizer, scaler, batches)
