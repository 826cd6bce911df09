"""A GAN whose generator steps first, and whose discriminator does not forget the gradients of the generator's backward.

The generator's backward goes through the discriminator. Prints the gradient of one fake sample with which the
discriminator steps, where its own loss gives 1, and each network has a scaler of its own.
"""

from __future__ import annotations

import torch
from torch import nn


def gradient_of_fakes(*, generator_scale: float, zeroed_before: bool) -> float:
    """What the discriminator's optimizer steps with."""
    generator, discriminator = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    nn.init.ones_(generator.weight)
    optimizer = torch.optim.SGD(generator.parameters(), lr=0.0)
    optimizer_d = torch.optim.SGD(discriminator.parameters(), lr=0.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=generator_scale)
    scaler_d = torch.amp.GradScaler("cpu", init_scale=1024.0)
    noise = torch.ones(1, 1)

    scaler.scale(-discriminator(generator(noise)).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()

    if zeroed_before:
        optimizer_d.zero_grad()
    scaler_d.scale(discriminator(generator(noise).detach()).sum()).backward()
    scaler_d.step(optimizer_d)
    scaler_d.update()
    gradient = discriminator.weight.grad
    assert gradient is not None
    return float(gradient)


def main() -> None:
    print(f"zeroed before its turn: {gradient_of_fakes(generator_scale=1024.0, zeroed_before=True):g}")
    print(f"left there, equal scales: {gradient_of_fakes(generator_scale=1024.0, zeroed_before=False):g}")
    larger = gradient_of_fakes(generator_scale=4096.0, zeroed_before=False)
    print(f"left there, the generator's scale 4 times as large: {larger:g}")


if __name__ == "__main__":
    main()
