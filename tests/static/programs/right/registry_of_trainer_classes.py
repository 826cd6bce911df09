import torch
from torch import nn

TRAINERS = {}


def register(name):
    def wrap(cls):
        TRAINERS[name] = cls
        return cls

    return wrap


class Base:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def train_batch(self, x, y):
        self.opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(self.model(x), y)
        self.backward(loss)
        self.finish()


@register("plain")
class Plain(Base):
    def finish(self):
        self.scaler.step(self.opt)
        self.scaler.update()


@register("clipped")
class Clipped(Base):
    def finish(self):
        self.scaler.unscale_(self.opt)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.opt)
        self.scaler.update()


def main(names):
    for name in names:
        trainer = TRAINERS[name](nn.Linear(6, 3))
        for _ in range(4):
            trainer.train_batch(torch.randn(8, 6), torch.randint(0, 3, (8,)))


if __name__ == "__main__":
    main(["plain", "clipped"])
