"""A character-level transformer of one block, small enough for a CPU."""

import torch
import torch.nn.functional as F
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (part.view(B, T, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, heads, T, C / heads)
        return self.out(y.transpose(1, 2).reshape(B, T, C))


class TinyGPT(nn.Module):
    def __init__(self, vocab_size: int, block_size: int, width: int = 32, heads: int = 2) -> None:
        super().__init__()
        self.token = nn.Embedding(vocab_size, width)
        self.position = nn.Embedding(block_size, width)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = CausalSelfAttention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.head = nn.Linear(width, vocab_size, bias=False)

    def forward(self, idx, targets):
        """Returns the logits (B, T, vocab) and the mean cross entropy."""
        x = self.token(idx) + self.position(torch.arange(idx.shape[1], device=idx.device))
        x = x + self.attention(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        logits = self.head(self.norm3(x))
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
