"""Small batches of points, on the host, pinned so that they can travel while the device computes."""

import torch
from torch.utils.data import DataLoader, TensorDataset

FEATURES, CLASSES = 8, 3


def points(count, seed=0):
    """Points of `CLASSES` clouds, and the number of the cloud that each belongs to."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % CLASSES
    centres = torch.randn(CLASSES, FEATURES, generator=generator)
    return centres[labels] + 0.1 * torch.randn(count, FEATURES, generator=generator), labels


def loader(count=64, batch_size=16):
    return DataLoader(
        TensorDataset(*points(count)), batch_size=batch_size, num_workers=1, persistent_workers=True, pin_memory=True
    )
