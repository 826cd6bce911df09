import itertools

import torch
from torch import nn


def main():
    first, second = nn.Linear(4, 4), nn.Linear(4, 1)
    turns = itertools.cycle(
        [torch.optim.SGD(first.parameters(), lr=0.1), torch.optim.SGD(second.parameters(), lr=0.05)]
    )
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(8):
        x, y = torch.randn(8, 4), torch.randn(8, 1)
        optimizer = next(turns)
        first.zero_grad()
        second.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(second(first(x)), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        params = [p for group in optimizer.param_groups for p in group["params"]]
        nn.utils.clip_grad_norm_(params, 1.0)
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    main()
