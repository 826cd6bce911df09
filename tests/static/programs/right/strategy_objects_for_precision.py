import torch
from torch import nn


class Full:
    def region(self):
        return torch.autocast("cuda", enabled=False)

    def minimise(self, loss, optimizer, params):
        loss.backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()


class Mixed:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

    def region(self):
        return torch.autocast("cuda", dtype=torch.float16)

    def minimise(self, loss, optimizer, params):
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(params, 1.0)
        self.scaler.step(optimizer)
        self.scaler.update()


def fit(strategy):
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        with strategy.region():
            loss = nn.functional.cross_entropy(model(x), y)
        strategy.minimise(loss, optimizer, list(model.parameters()))


def main():
    for strategy in (Full(), Mixed()):
        fit(strategy)


if __name__ == "__main__":
    main()
