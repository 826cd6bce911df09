"""Schedules that are about something else than a learning rate."""

from torch.amp import GradScaler


class NoiseScheduler:
    def __init__(self, noise):
        self.noise = noise

    def step(self):
        self.noise *= 0.9


def train(model, optimizer, batches):
    scaler = GradScaler()
    scheduler = NoiseScheduler(0.1)
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()


class PerEpoch:
    def __init__(self, model, optimizer, schedule):
        self.model, self.optimizer = model, optimizer
        self.scaler, self.lr_scheduler = GradScaler(), schedule

    def run(self, epochs, loader):
        for epoch in range(epochs):
            for batch in loader:
                self.back(self.model(batch))
            self.lr_scheduler.step()

    def back(self, loss):
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
