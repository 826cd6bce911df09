import torch
from torch import nn


import contextlib


class Stepping(contextlib.AbstractContextManager):
    def __init__(self, model, optimizer, scaler):
        self.model, self.optimizer, self.scaler = model, optimizer, scaler

    def __enter__(self):
        self.optimizer.zero_grad()
        return self

    def __exit__(self, *error):
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)


def main():
    models = [nn.Linear(5, 1), nn.Linear(5, 1)]
    scaler = torch.amp.GradScaler("cuda")
    managers = [Stepping(m, torch.optim.SGD(m.parameters(), lr=0.1), scaler) for m in models]
    for _ in range(4):
        x, y = torch.randn(8, 5), torch.randn(8, 1)
        with contextlib.ExitStack() as stack:
            for each in managers:
                stack.enter_context(each)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.mse_loss(models[0](x) + models[1](x), y)
            scaler.scale(loss).backward()
        scaler.update()


if __name__ == "__main__":
    main()
