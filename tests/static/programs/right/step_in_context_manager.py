import contextlib

import torch
from torch import nn


@contextlib.contextmanager
def optimized(scaler, optimizer, parameters):
    optimizer.zero_grad()
    yield lambda loss: scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(parameters, 1.0)
    scaler.step(optimizer)
    scaler.update()


def main():
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(6):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        with optimized(scaler, optimizer, list(model.parameters())) as backward:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.cross_entropy(model(x), y)
            backward(loss)


if __name__ == "__main__":
    main()
