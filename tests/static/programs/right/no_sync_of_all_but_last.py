import torch
from torch import nn


import contextlib


class Replica(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)

    def no_sync(self):
        return contextlib.nullcontext()


def main():
    model = Replica(nn.Linear(6, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(4):
        parts = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(3)]
        optimizer.zero_grad()
        for i, (x, y) in enumerate(parts):
            last = i == len(parts) - 1
            with contextlib.nullcontext() if last else model.no_sync():
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = nn.functional.cross_entropy(model(x), y) / len(parts)
                scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    main()
