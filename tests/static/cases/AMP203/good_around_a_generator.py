from contextlib import contextmanager

import torch
from torch.nn.utils import clip_grad_norm_


class Loop:
    """What the manager does after its `yield` is done however the body is left."""

    def __init__(self, model, optimizer, loss_fn):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.scaler = torch.amp.GradScaler("cuda")

    @contextmanager
    def optimized(self, loss):
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        yield
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def run(self, batches):
        for inputs, targets, clips in batches:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.loss_fn(self.model(inputs), targets)
            with self.optimized(loss):
                self.scaler.unscale_(self.optimizer)
                if not clips:
                    continue
                clip_grad_norm_(self.model.parameters(), 1.0)

    def step(self, inputs, targets):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.loss_fn(self.model(inputs), targets)
        with self.optimized(loss):
            self.scaler.unscale_(self.optimizer)
            return clip_grad_norm_(self.model.parameters(), 1.0)
