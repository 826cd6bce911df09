"""Windows that a count keeps, and windows that the caller of a wrapper keeps."""

import torch
from torch.amp import GradScaler


def by_a_count(model, loss_fn, optimizer, scaler, batches, length):
    count = 0
    for batch in batches:
        count += 1
        scaler.scale(loss_fn(model(batch))).backward()  # expect: AMP216 likely
        if count == length:
            count = 0
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


class Scaler:
    def __init__(self):
        self.inner = GradScaler()

    def __call__(self, loss, optimizer, parameters, update=True):
        self.inner.scale(loss).backward()
        if update:
            self.inner.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            self.inner.step(optimizer)
            self.inner.update()
            optimizer.zero_grad()


def by_a_wrapper(model, loss_fn, optimizer, batches, length):
    scaler = Scaler()
    for number, batch in enumerate(batches):
        loss = loss_fn(model(batch))
        scaler(loss, optimizer, model.parameters(), (number + 1) % length == 0)  # expect: AMP216 likely


def step(number, loss, optimizer, scaler=None, length=1):
    if scaler is not None:
        scaler.scale(loss).backward()  # expect: AMP216 likely
        if number % length == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    else:
        loss.backward()


def by_a_function_that_may_have_none(model, loss_fn, optimizer, scaler, batches, length):
    for number, batch in enumerate(batches, 1):
        step(number, loss_fn(model(batch)), optimizer, scaler, length)


class Optimizers:
    def __init__(self, optimizers):
        self.optimizers = optimizers

    def step_all(self, scaler):
        for optimizer in self.optimizers:
            scaler.step(optimizer)


class Trainer:
    def __init__(self, model, optimizers, parts):
        self.model = model
        self.optimizers = Optimizers(optimizers)
        self.scaler = GradScaler()
        self.parts = parts

    def turn(self, batches):
        for _ in range(self.parts):
            loss = self.model(next(batches)).mean()
            self.scaler.scale(loss).backward()  # expect: AMP216 likely
        self.optimizers.step_all(self.scaler)
        self.scaler.update()
