"""Two optimizers step at the end of one window: what is wrong with it is told once."""

import torch


def train(one, two, batches, scaler, every):
    first = torch.optim.Adam(one.parameters())
    second = torch.optim.Adam(two.parameters())
    for number, (inputs, targets) in enumerate(batches, 1):
        with torch.autocast("cuda"):
            loss = torch.nn.functional.mse_loss(two(one(inputs)), targets)
        scaler.scale(loss).backward()  # expect: AMP216 likely
        if number % every == 0:
            scaler.step(first)
            scaler.step(second)
            scaler.update()
            first.zero_grad()
            second.zero_grad()
