import functools

import torch
from torch import nn


def unscale(scaler, optimizer):
    scaler.unscale_(optimizer)


def clip(model, limit):
    nn.utils.clip_grad_norm_(model.parameters(), limit)


def step(scaler, optimizer):
    scaler.step(optimizer)
    scaler.update()


def main():
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    after_backward = [
        functools.partial(unscale, scaler, optimizer),
        functools.partial(clip, model, 1.0),
        functools.partial(step, scaler, optimizer),
        optimizer.zero_grad,
    ]
    for _ in range(6):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        for each in after_backward:
            each()


if __name__ == "__main__":
    main()
