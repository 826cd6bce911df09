from contextlib import contextmanager

import torch
from torch.nn.utils import clip_grad_norm_


class Loop:
    def __init__(self, model, optimizer, loss_fn):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.scaler = torch.amp.GradScaler("cuda")

    @contextmanager
    def optimized(self, loss):
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        yield
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def run(self, batches):
        for inputs, targets in batches:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.loss_fn(self.model(inputs), targets)
            with self.optimized(loss):
                clip_grad_norm_(self.model.parameters(), 1.0)


def derived(model, loss_fn, optimizer, scaler, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        yield loss.detach()
        scaler.step(optimizer)
        scaler.update()


def train(model, loss_fn, batches):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for loss in derived(model, loss_fn, optimizer, scaler, batches):
        if loss < 1e-3:
            continue
        clip_grad_norm_(model.parameters(), 1.0)
