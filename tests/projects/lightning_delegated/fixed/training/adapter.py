"""The model, with the loss and the optimizer that belong to it."""

import torch
import torch.nn.functional as F
from torch import nn


class ModelAdapter(nn.Module):
    """A classifier of vectors: does the first half sum to more than the second?"""

    def __init__(self, features: int = 8, width: int = 32) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, x):
        return self.layers(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def make_batches(count, batch_size=32, features=8, seed=0):
    """Batches of vectors and whether the first half of each sums to more than the second."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, batch_size, features, generator=generator)
    first, second = x.split(features // 2, dim=-1)
    return list(zip(x, (first.sum(-1) > second.sum(-1)).long(), strict=True))
