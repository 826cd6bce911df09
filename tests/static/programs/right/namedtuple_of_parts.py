import torch
from torch import nn


from typing import NamedTuple


class Parts(NamedTuple):
    model: nn.Module
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler


def build(lr):
    model = nn.Linear(6, 3)
    return Parts(model, torch.optim.SGD(model.parameters(), lr=lr), torch.amp.GradScaler("cuda"))


def step(parts, x, y):
    model, optimizer, scaler = parts
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(parts.optimizer)
    nn.utils.clip_grad_norm_(parts.model.parameters(), 1.0)
    parts[2].step(parts[1])
    scaler.update()


def main():
    runs = [build(lr) for lr in (0.1, 0.01)]
    for _ in range(4):
        for each in runs:
            step(each, torch.randn(8, 6), torch.randint(0, 3, (8,)))


if __name__ == "__main__":
    main()
