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


class Optimizers:
    """Several optimizers by name, each with its schedule, of which each waits for its optimizer's step."""

    def __init__(self, optimizers, schedulers):
        self.optimizers, self.schedulers = optimizers, schedulers

    def scaled_steps(self, scaler):
        for optimizer in self.optimizers.values():
            optimizer.zero_grad()
            scaler.step(optimizer)

    def scheduler_steps(self):
        for name, scheduler in self.schedulers.items():
            scheduler.step(self.optimizers[name].step_taken)


class TrainsSeveral:
    def __init__(self, model, optimizers, schedulers):
        self.model, self.optimizers = model, Optimizers(optimizers, schedulers)
        self.scaler = GradScaler()

    def one_turn(self, batch):
        self.scaler.scale(self.model(batch)).backward()
        self.optimizers.scaled_steps(self.scaler)
        self.scaler.update()
        self.optimizers.scheduler_steps()
