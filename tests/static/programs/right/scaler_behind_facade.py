import torch
from torch import nn


class Precision:
    def __init__(self, on):
        self.on = on
        self._amp = torch.amp.GradScaler("cuda", enabled=on)

    def forward(self):
        return torch.autocast("cuda", dtype=torch.float16, enabled=self.on)

    def backward(self, loss, **kwargs):
        self._amp.scale(loss).backward(**kwargs)

    def clip(self, optimizer, limit):
        self._amp.unscale_(optimizer)
        return nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], limit)

    def step(self, optimizer):
        self._amp.step(optimizer)
        self._amp.update()


def main():
    precision = Precision(on=True)
    model = nn.Linear(6, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        opt.zero_grad()
        with precision.forward():
            loss = nn.functional.cross_entropy(model(x), y)
        precision.backward(loss)
        precision.clip(opt, 1.0)
        precision.step(opt)


if __name__ == "__main__":
    main()
