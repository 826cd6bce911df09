"""A GAN whose clip in the generator's turn spans the discriminator too, after `unscale_` of the generator's optimizer.

The generator's backward leaves gradients in the discriminator, still multiplied by the scale. Their norm decides by how
much the generator's gradients are clipped. Prints how far the generator moved, for two scales and both ways to clip.
"""

from __future__ import annotations

import torch
from torch import nn


def generator_moved(init_scale: float, *, over_both: bool, iterations: int = 5) -> float:
    """The distance of the generator's weights from where they began, the learning rate being 1."""
    torch.manual_seed(0)
    generator, discriminator = nn.Linear(8, 8), nn.Linear(8, 1)
    both = nn.ModuleList([generator, discriminator])
    optimizer, optimizer_d = (torch.optim.SGD(net.parameters(), lr=1.0) for net in (generator, discriminator))
    scaler = torch.amp.GradScaler("cpu", init_scale=init_scale)
    start = [parameter.detach().clone() for parameter in generator.parameters()]
    for _ in range(iterations):
        real, noise = torch.randn(16, 8), torch.randn(16, 8)
        for turn, stepped in (("discriminator", optimizer_d), ("generator", optimizer)):
            fake = generator(noise)
            if turn == "discriminator":
                loss = discriminator(fake.detach()).mean() - discriminator(real).mean()
            else:
                loss = -discriminator(fake).mean()
            scaler.scale(loss).backward()
            scaler.unscale_(stepped)
            own = generator if turn == "generator" else discriminator
            norm = nn.utils.clip_grad_norm_((both if over_both else own).parameters(), 1.0)
            if torch.isfinite(norm):
                scaler.step(stepped)
            scaler.update()
            both.zero_grad()
    moved = [(now.detach() - then).norm() for now, then in zip(generator.parameters(), start, strict=True)]
    return float(torch.stack(moved).norm())


def main() -> None:
    for over_both in (True, False):
        clipped = "generator and discriminator" if over_both else "the generator alone"
        for power in (8, 16):
            moved = generator_moved(2.0**power, over_both=over_both)
            print(f"clip over {clipped}, scale 2**{power}: the generator moved {moved:.3g}")


if __name__ == "__main__":
    main()
