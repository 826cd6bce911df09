"""Two networks, two optimizers, one scaler in float16: it steps both, and is updated once an iteration."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from reference_impl.gallery import tasks

NOISE = 16


def adversary_loss(scores: Tensor, real: bool) -> Tensor:
    """Of scores as logits: a sigmoid before the loss would make log(0) of a sure answer in half precision."""
    return nn.functional.binary_cross_entropy_with_logits(scores, torch.full_like(scores, float(real)))


def train(steps: int) -> float:
    """Draw digits; returns the share of drawn images that the discriminator takes for drawn: 50 % is a draw."""
    torch.manual_seed(0)
    device = tasks.device()
    data, _ = tasks.digits(device)
    generator = nn.Sequential(nn.Linear(NOISE, 128), nn.ReLU(), nn.Linear(128, 64), nn.Sigmoid()).to(device)
    discriminator = nn.Sequential(nn.Linear(64, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1)).to(device)
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.99))
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.99))
    scaler = torch.amp.GradScaler(device.type)
    region = torch.autocast(device.type, dtype=torch.float16)

    for images, _ in tasks.batches(data, 64, steps):
        with region:
            drawn = generator(torch.randn(len(images), NOISE, device=device))
            on_real, on_drawn = discriminator(images.flatten(1)), discriminator(drawn.detach())
            loss_d = adversary_loss(on_real, real=True) + adversary_loss(on_drawn, real=False)
        optimizer_d.zero_grad()  # also what the generator's backward left in the discriminator
        scaler.scale(loss_d).backward()
        scaler.step(optimizer_d)

        with region:
            loss_g = adversary_loss(discriminator(drawn), real=True)
        optimizer_g.zero_grad()
        scaler.scale(loss_g).backward()
        scaler.step(optimizer_g)  # each optimizer skips by its own gradients
        scaler.update()  # once: both losses of an iteration have one scale

    with torch.no_grad(), region:
        drawn = generator(torch.randn(1000, NOISE, device=device))
        taken: Tensor = (discriminator(drawn) < 0).float().mean()
        return float(taken)


if __name__ == "__main__":
    tasks.main(train, steps=300)
