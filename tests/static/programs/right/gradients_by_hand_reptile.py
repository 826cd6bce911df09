import copy

import torch
from torch import nn


def main():
    model = nn.Linear(4, 1)
    outer = torch.optim.SGD(model.parameters(), lr=1.0)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(3):
        fast = copy.deepcopy(model)
        inner = torch.optim.SGD(fast.parameters(), lr=0.1)
        for _ in range(4):
            x, y = torch.randn(8, 4), torch.randn(8, 1)
            inner.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.mse_loss(fast(x), y)
            scaler.scale(loss).backward()
            scaler.step(inner)
            scaler.update()
        outer.zero_grad()
        for slow, quick in zip(model.parameters(), fast.parameters()):
            slow.grad = slow.data - quick.data
        outer.step()


if __name__ == "__main__":
    main()
