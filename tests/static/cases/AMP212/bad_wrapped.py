"""A wrapper that is built once: nothing in its `step` zeroes."""

import torch


class Wrapped:
    def __init__(self, optim):
        self.optim = optim
        self.scaler = torch.amp.GradScaler("cuda")

    def backward(self, loss):
        self.scaler.scale(loss).backward()  # expect: AMP212

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


def check(model, batches):
    optimizer = torch.optim.Adam(model.parameters())
    model, optimizer = configure(model, optimizer)
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        optimizer.backward(loss)
        optimizer.clip_grad_by_norm(1.0)
        optimizer.step()
