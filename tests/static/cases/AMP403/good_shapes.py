"""Constants that fit, infinities, float32, bfloat16, and no region."""

import torch
from torch.cuda.amp import autocast


def fits(q, k, mask):
    with autocast():
        scores = q @ k
        scores = scores.masked_fill(mask, -1e4)
        scores = scores.masked_fill(mask, float("-inf"))
        return scores.masked_fill(mask, torch.finfo(scores.dtype).min)


def wide(q, k, mask):
    with autocast():
        return (q @ k).float().masked_fill(mask, -1e9)


def after_softmax(q, k, mask):
    with autocast():
        return torch.softmax(q @ k, -1).masked_fill(mask, -1e9)


def unknown(scores, mask):
    with autocast():
        return scores.masked_fill(mask, -1e9)


def bfloat16(q, k, mask):
    with autocast(dtype=torch.bfloat16):
        return (q @ k).masked_fill(mask, -1e9)


def outside(q, k, mask):
    return (q @ k).masked_fill(mask, -1e9)


def island(q, k, mask):
    with autocast():
        with autocast(enabled=False):
            return (q.float() @ k.float()).masked_fill(mask, -1e9)
