"""Accumulation in a GAN that zeroes the other network's gradients after every turn instead of after every window.

Only the last micro-batch of a window is left when the optimizer steps. Prints the share of the window's gradient that
the generator's step used.
"""

from __future__ import annotations

import torch
from torch import nn


def share_used(*, window: int, zero_every_turn: bool) -> float:
    """The generator's gradient at its step, over that of all micro-batches of the window together."""
    generator, discriminator = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    nn.init.constant_(discriminator.weight, 1.0)
    optimizer = torch.optim.SGD(generator.parameters(), lr=1.0)
    optimizer_d = torch.optim.SGD(discriminator.parameters(), lr=0.0)
    for micro_batch in range(window):
        last = micro_batch + 1 == window
        noise = torch.ones(1, 1)
        (discriminator(generator(noise).detach()).sum() / window).backward()
        if last:
            optimizer_d.step()
        if zero_every_turn:
            optimizer.zero_grad()  # throws away what earlier micro-batches left in the generator
        if last:
            optimizer_d.zero_grad()
        (discriminator(generator(noise)).sum() / window).backward()
        optimizer_d.zero_grad()
    gradient = generator.weight.grad
    assert gradient is not None
    return float(gradient)  # each micro-batch adds 1 / window


def main() -> None:
    for zero_every_turn in (True, False):
        when = "after every turn" if zero_every_turn else "after every window"
        share = share_used(window=4, zero_every_turn=zero_every_turn)
        print(f"gradients zeroed {when}: {share:.2f} of the window is used")


if __name__ == "__main__":
    main()
