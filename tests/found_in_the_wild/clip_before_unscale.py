"""Gradients clipped right after the backward of a scaled loss; the scaler unscales them only in `step`.

Prints how far one step of SGD with learning rate 1 and a clip to norm 1 moves the weights, for two scales.
"""

from __future__ import annotations

import torch
from torch import nn


def moved(init_scale: float, *, unscale_first: bool) -> float:
    """The distance that the weights move in one step."""
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=init_scale)
    scaler.scale((10 * model(torch.randn(32, 8))).square().mean()).backward()
    if unscale_first:
        scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    return float((model.weight.detach() - start).norm())


def main() -> None:
    for unscale_first in (False, True):
        order = "unscale_, then clip" if unscale_first else "clip, then step"
        for power in (8, 16):
            print(f"{order}, scale 2**{power}: the weights moved {moved(2.0**power, unscale_first=unscale_first):.3g}")


if __name__ == "__main__":
    main()
