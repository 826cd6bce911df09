"""Masks that are added and stay what they are: in float32, of a constant that float16 holds, once, or bounded."""

import torch
from torch import nn


class Wide(nn.Module):
    """Zeros and ones that are no half: the sum is float32."""

    def __init__(self, width):
        super().__init__()
        self.project = nn.Linear(width, 3 * width)

    def forward(self, inputs, keep):
        query, key, value = self.project(inputs).chunk(3, -1)
        scores = query @ key.transpose(-2, -1)
        scores = scores + (keep == 0) * -1e9
        scores = scores + (1.0 - keep.float()) * -1e9
        return scores.softmax(-1) @ value


class Held(Wide):
    def forward(self, inputs, keep):
        query, key, value = self.project(inputs).chunk(3, -1)
        scores = query @ key.transpose(-2, -1)
        return (scores + (1.0 - keep.half()) * -1e4).softmax(-1) @ value


class Lifted(Wide):
    def forward(self, inputs, keep):
        query, key, value = self.project(inputs).chunk(3, -1)
        scores = (query @ key.transpose(-2, -1)).float()
        return (scores + (1.0 - keep.to(scores.dtype)) * -1e9).softmax(-1) @ value


class Once(Wide):
    def forward(self, inputs, keep):
        query, key, value = self.project(inputs).chunk(3, -1)
        scores = query @ key.transpose(-2, -1)
        padded = (1 - keep) * torch.finfo(scores.dtype).min
        return (scores + padded).softmax(-1) @ value


class Bounded(Wide):
    def forward(self, inputs, keep):
        query, key, value = self.project(inputs).chunk(3, -1)
        scores = query @ key.transpose(-2, -1)
        low = torch.finfo(scores.dtype).min
        later = torch.full(scores.shape[-2:], low, dtype=scores.dtype).triu(1)
        padded = (1 - keep) * low
        both = (later + padded).clamp(min=low)
        return (scores + both).softmax(-1) @ value


class Halved(Wide):
    """Two halves of the lowest number stay in range, and a bias that is learnt is no mask."""

    def forward(self, inputs, keep):
        query, key, value = self.project(inputs).chunk(3, -1)
        scores = query @ key.transpose(-2, -1)
        low = torch.finfo(scores.dtype).min / 2
        later = torch.full(scores.shape[-2:], low, dtype=scores.dtype).triu(1)
        return (scores + later + (1 - keep) * low + query[..., :1] * 2.0).softmax(-1) @ value


def train(model, optimizer, scaler, batches):
    for inputs, keep in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(inputs, keep).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def main(optimizer, scaler, batches):
    for kind in (Wide, Held, Lifted, Once, Bounded, Halved):
        train(kind(64), optimizer, scaler, batches)
