"""Scalers that live as long as their optimizers."""

import torch
from torch.cuda.amp import GradScaler


def once(model, optimizer, batches, epochs):
    scaler = GradScaler()
    for _ in range(epochs):
        for batch in batches:
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()


def folds(build, batches, number):
    for _ in range(number):
        model = build()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = GradScaler()
        for batch in batches:
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()


def seeds(build, batches, number):
    for seed in range(number):
        Trainer(build(seed)).fit(batches)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = GradScaler()

    def fit(self, batches):
        for batch in batches:
            self.optimizer.zero_grad()
            self.scaler.scale(self.model(batch)).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()


def one_for_each_optimizer(models, optimizers, batches):
    scalers = {}
    for name in optimizers:
        scalers[name] = GradScaler()
    for batch in batches:
        for name, optimizer in optimizers.items():
            optimizer.zero_grad()
            scalers[name].scale(models[name](batch)).backward()
            scalers[name].step(optimizer)
            scalers[name].update()


def when_first_needed(model, optimizer, batches):
    scaler = None
    for batch in batches:
        if scaler is None:
            scaler = GradScaler()
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()


def until_it_fits(model, optimizer, batches, sizes):
    for size in sizes:
        try:
            scaler = GradScaler()
            for batch in batches[:size]:
                scaler.scale(model(batch)).backward()
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        except RuntimeError:
            continue
        break


def switched_off(model, optimizer, batches):
    for batch in batches:
        scaler = GradScaler(enabled=False)
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()


def by_the_text_of_its_name(model, name, folds):
    for fold in folds:
        one_fold(model, name, fold)


def one_fold(model, name, batches):
    optimizer = eval(f"torch.optim.{name}(model.parameters(), lr=0.1)")
    scaler = GradScaler()
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()


def influence_of_each_part(model, parts, batches, dtype):
    for part in parts:
        gradients_of(model, part, batches, dtype)


def gradients_of(model, part, batches, dtype):
    scaler = GradScaler(init_scale=4096.0, enabled=dtype == torch.float16)
    divisor = scaler.get_scale()
    for batch in batches:
        backward(model(batch), scaler=scaler)
        part.add(model, divisor)


def backward(loss, scaler):
    print("backward by", scaler)
    scaler.scale(loss).backward()
