"""Constants that float16 cannot hold, on halves."""

import math

import torch
from torch import nn
from torch.cuda.amp import autocast

LOWEST = -1e9


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim**-0.5
        self.query = nn.Linear(dim, dim)

    def forward(self, x, mask):
        scores = torch.matmul(self.query(x), x.transpose(-2, -1)) * self.scale
        scores = scores.masked_fill(mask == 0, LOWEST)  # expect: AMP403
        return torch.softmax(scores, dim=-1) @ x


def run(batch, mask, dim):
    attention = Attention(dim)
    with autocast():
        return attention(batch, mask)


def written_inside(q, k, mask):
    with torch.autocast("cuda", dtype=torch.float16):
        scores = torch.einsum("bid,bjd->bij", q, k) / math.sqrt(64)
        scores.masked_fill_(mask, value=-2**32 + 1)  # expect: AMP403
        bounded = (q @ k).clamp(-1e6, 1e6)  # expect: AMP403
        return scores, bounded, torch.where(mask, scores, -1e10)  # expect: AMP403 likely


def either(q, k, mask, args):
    dtype = torch.bfloat16 if args.bf16 else torch.float16
    with torch.autocast("cuda", dtype=dtype):
        return torch.bmm(q, k).masked_fill(mask, -1e9)  # expect: AMP403 likely


def by_assignment(q, k, mask):
    with torch.autocast("cuda", dtype=torch.float16):
        scores = q @ k
        scores[~mask] = -1e9  # expect: AMP403 likely
        return torch.masked_fill(scores, mask, -1e9)  # expect: AMP403
