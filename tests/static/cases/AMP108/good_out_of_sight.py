"""What the island calls is in no file of the project: whether it casts is not known."""

import torch
from losses_of_others import Perceptual, adversarial

import other_package


def train(loader, generator, critic, optimizer, scaler):
    perceptual = Perceptual()
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            made = generator(inputs)
            real, fake = critic(targets, made)
            with torch.autocast("cuda", enabled=False):
                loss = adversarial(real, fake)
            with torch.autocast("cuda", enabled=False):
                loss = loss + perceptual(made, targets)
            with torch.autocast("cuda", enabled=False):
                loss = loss + other_package.losses.feature(made, targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
