"""What the loops of this gallery train on: real data that a package ships, and models of a few lines.

Images: the 1,797 handwritten digits of scikit-learn. Text: Python's own reference manual, as `pydoc` ships it.
Shapes in comments: B items, T characters, C channels.
"""

from __future__ import annotations

import argparse
import pydoc_data.topics
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

Batch = tuple[Tensor, Tensor]
HELD_OUT = 397
"""Items that are not trained on: the last images, by other writers than the first, and the manual's last pieces."""
CONTEXT = 64
"""Characters that the text model reads."""
CHARACTERS = 128
"""ASCII; the manual has little else."""


def device() -> torch.device:
    """The accelerator, where there is one. Sets what float32 means there: rounded to TF32, or not at all."""
    # "tf32" is faster: say which, the defaults differ by operator and version
    torch.backends.fp32_precision = "ieee"  # type: ignore[attr-defined]
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def digits(where: torch.device) -> tuple[Batch, Batch]:
    """Training and held-out images (B, 1, 8, 8) float32 from 0 to 1, with their labels (B,) int64."""
    shipped = load_digits()
    images = torch.tensor(shipped.images, dtype=torch.float32, device=where)[:, None] / 16
    labels = torch.tensor(shipped.target, dtype=torch.int64, device=where)
    return (images[:-HELD_OUT], labels[:-HELD_OUT]), (images[-HELD_OUT:], labels[-HELD_OUT:])


def batches(data: Batch, size: int, steps: int) -> Iterator[Batch]:
    """`steps` batches of `size` items, drawn anew each time from a fixed seed."""
    inputs, targets = data
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        rows = torch.randint(len(inputs), (size,), generator=generator).to(inputs.device)
        yield inputs[rows], targets[rows]


def text(where: torch.device) -> tuple[Batch, Batch]:
    """Training and held-out pieces (B, CONTEXT) int64 of the manual, each with the same moved on by a character."""
    manual = "\n".join(topic for _, topic in sorted(pydoc_data.topics.topics.items()))
    codes = torch.tensor(list(manual.encode("ascii", "replace")), device=where)
    pieces = codes[: (len(codes) - 1) // CONTEXT * CONTEXT + 1].unfold(0, CONTEXT + 1, CONTEXT)  # (B, CONTEXT + 1)
    inputs, targets = pieces[:, :-1], pieces[:, 1:]
    return (inputs[:-HELD_OUT], targets[:-HELD_OUT]), (inputs[-HELD_OUT:], targets[-HELD_OUT:])


class ConvNet(nn.Module):
    """Images (B, 1, 8, 8) in, scores (B, 10) out."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.head = nn.Linear(2 * width * 16, 10)

    def forward(self, images: Tensor) -> Tensor:
        x = nn.functional.relu(self.norm(self.first(images)))  # (B, C, 8, 8)
        x = nn.functional.relu(self.second(x))  # (B, 2C, 4, 4)
        scores: Tensor = self.head(x.flatten(1))
        return scores


class Block(nn.Module):
    """Causal attention and a perceptron, each added to the stream (B, T, C)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(B, T, C))
        y: Tensor = x + self.down(nn.functional.gelu(self.up(self.norm_2(x))))
        return y


class CharGPT(nn.Module):
    """Characters (B, T) in, scores (B, T, CHARACTERS) of the next one out."""

    def __init__(self, width: int = 48, layers: int = 2, heads: int = 3) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(CHARACTERS, width), nn.Embedding(CONTEXT, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, CHARACTERS)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.token(tokens) + self.position.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        scores: Tensor = self.head(self.norm(x))
        return scores


@torch.no_grad()
def accuracy(model: nn.Module, held_out: Batch, region: AbstractContextManager[object]) -> float:
    """The share of right answers on held-out images or characters, in the region that the training ran in."""
    inputs, targets = held_out
    model.eval()
    with region:
        right = (model(inputs).argmax(dim=-1) == targets).float().mean()
    model.train()
    return float(right)


def main(train: Callable[[int], float], steps: int) -> None:
    """Run a loop of this gallery from the command line: `--steps` is its only option."""
    parser = argparse.ArgumentParser(description=train.__doc__)
    parser.add_argument("--steps", type=int, default=steps)
    steps = parser.parse_args().steps
    print(f"after {steps} steps: {train(steps):.1%}")
