import functools

import torch


def make_step(model, optimizer, scaler, max_norm):
    clip = functools.partial(torch.nn.utils.clip_grad_norm_, max_norm=max_norm)

    def step(loss):
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        clip(model.parameters())  # expect: AMP201
        scaler.step(optimizer)
        scaler.update()

    return step


def main(model, loader, loss_fn):
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    step = make_step(model, optimizer, scaler, 1.0)
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        step(loss)


class Trainer:
    def __init__(self, model):
        self.optimizer = torch.optim.Adam(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")
        self.clip = functools.partial(torch.nn.utils.clip_grad_norm_, list(model.parameters()), 1.0)

    def step(self, loss):
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.clip()  # expect: AMP201
        self.scaler.step(self.optimizer)
        self.scaler.update()
