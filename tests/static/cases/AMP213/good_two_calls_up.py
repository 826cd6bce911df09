"""The same where the engine tells whether it stepped, and where the schedule is one of epochs."""

import torch


class Engine:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, loss, optimizer):
        scale = self.scaler.get_scale()
        self.scaler.scale(loss).backward()
        self.scaler.step(optimizer)
        self.scaler.update()
        optimizer.zero_grad()
        return self.scaler.get_scale() >= scale


class Plain:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, loss, optimizer):
        self.scaler.scale(loss).backward()
        self.scaler.step(optimizer)
        self.scaler.update()
        optimizer.zero_grad()


def run_batch(batch, model, optimizer, engine):
    with torch.autocast("cuda"):
        loss = model(batch).mean()
    return engine.step(loss, optimizer)


def run_epoch(batches, model, optimizer):
    engine = Plain()
    for batch in batches:
        with torch.autocast("cuda"):
            loss = model(batch).mean()
        engine.step(loss, optimizer)


def train(model, optimizer, batches, steps):
    engine = Engine()
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=steps)
    for batch in batches:
        if run_batch(batch, model, optimizer, engine):
            scheduler.step()


def train_by_epochs(model, optimizer, batches, epochs):
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    for _ in range(epochs):
        run_epoch(batches, model, optimizer)
        scheduler.step()
