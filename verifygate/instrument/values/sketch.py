"""A few numbers for a tensor of any size, from which the distance of two tensors can be told.

A *count sketch* (Charikar, Chen, Farach-Colton 2002): each element gets a random sign and falls into one of `BUCKETS`
sums. The squared distance of two sketches is, on average, that of the tensors; with sixteen buckets it is right within
about a third. The signs are the same in every process. Of a large tensor every k-th element counts.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

BUCKETS = 16
MOST_ELEMENTS = 1 << 20


def sketch(tensor: Any) -> Any:
    """`BUCKETS` sums, the squared norm and the number of elements that are not finite.

    What is not finite counts as zero in the others. float64, on the device of the tensor.
    """
    flat = tensor.detach().reshape(-1)
    if flat.numel() > MOST_ELEMENTS:
        flat = flat[:: -(-flat.numel() // MOST_ELEMENTS)]
    finite = torch.isfinite(flat)
    values = torch.where(finite, flat, torch.zeros((), dtype=flat.dtype, device=flat.device)).double()
    padded = torch.nn.functional.pad(values, (0, -values.numel() % BUCKETS))
    signs = _signs(padded.numel(), padded.device)
    sums = (padded * signs).view(-1, BUCKETS).sum(0)
    return torch.cat([sums, values.square().sum().reshape(1), (~finite).sum().double().reshape(1)])


@functools.lru_cache(maxsize=64)
def _signs(number: int, device: torch.device) -> Any:
    generator = torch.Generator().manual_seed(20)
    return (torch.randint(0, 2, (number,), generator=generator, dtype=torch.int8) * 2 - 1).to(device)
