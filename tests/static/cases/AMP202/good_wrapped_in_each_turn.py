"""One training after the other, each with a model, an optimizer and a wrapper with a scaler of its own."""

import torch


class Wrapped:
    def __init__(self, optim):
        self.optim = optim
        self.scaler = torch.amp.GradScaler("cuda")

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def step(self):
        self.scaler.step(self.optim)
        self.scaler.update()

    def clip_grad_by_norm(self, limit):
        self.scaler.unscale_(self.optim)
        torch.nn.utils.clip_grad_norm_(self.optim.param_groups[0]["params"], limit)


def configure(model, optimizer=None):
    if optimizer is not None:
        optimizer = Wrapped(optimizer)
    return model, optimizer


def check(zoo, batch):
    for make in zoo.values():
        model = make()
        optimizer = torch.optim.Adam(model.parameters())
        model, optimizer = configure(model, optimizer)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        optimizer.backward(loss)
        optimizer.clip_grad_by_norm(1.0)
        optimizer.step()
