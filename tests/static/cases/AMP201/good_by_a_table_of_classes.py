from contextlib import nullcontext

import torch
from torch.nn.utils import clip_grad_norm_


class Precision:
    def before_clip(self, optimizer):
        pass


class Full(Precision):
    def region(self):
        return nullcontext()

    def backward(self, loss):
        loss.backward()

    def step(self, optimizer):
        optimizer.step()


class Mixed(Precision):
    def before_clip(self, optimizer):
        self.scaler.unscale_(optimizer)

    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

    def region(self):
        return torch.autocast("cuda", dtype=torch.float16)

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def step(self, optimizer):
        self.scaler.step(optimizer)
        self.scaler.update()


PRECISIONS = {"32": Full, "16-mixed": Mixed}


class Trainer:
    def __init__(self, model, optimizer, loss_fn, precision):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.precision = PRECISIONS[precision]()

    def step(self, inputs, targets):
        self.optimizer.zero_grad()
        with self.precision.region():
            loss = self.loss_fn(self.model(inputs), targets)
        self.precision.backward(loss)
        self.precision.before_clip(self.optimizer)
        clip_grad_norm_(self.model.parameters(), 1.0)
        self.precision.step(self.optimizer)
