"""Schedules of the project's own: one sets the rate, one steps torch's."""

from torch.amp import GradScaler
from torch.optim import lr_scheduler


class WarmupCosine:
    def __init__(self, optimizer, rates):
        self.optimizer, self.rates, self.count = optimizer, rates, 0

    def step(self):
        self.count += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.rates[self.count]


class LRScheduler:
    def __init__(self, optimizer, kind, options):
        self.kind = kind
        self.scheduler = getattr(lr_scheduler, kind)(optimizer, **options)

    def step(self, metrics=None):
        if self.kind == "ReduceLROnPlateau":
            self.scheduler.step(metrics)
        else:
            self.scheduler.step()


def train(model, optimizer, batches, rates):
    scaler = GradScaler()
    schedule = WarmupCosine(optimizer, rates)
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        schedule.step()  # expect: AMP213 likely


def train_with_a_wrapper(model, optimizer, batches, kind, options):
    scaler = GradScaler()
    scheduler = LRScheduler(optimizer, kind, options)
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()  # expect: AMP213 likely


class Trainer:
    def __init__(self, model, optimizer, kind, options):
        self.model, self.optimizer = model, optimizer
        self.scaler = GradScaler()
        self.scheduler = LRScheduler(optimizer, kind, options)

    def run(self, batches):
        for batch in batches:
            self.optimizer.zero_grad()
            self.back(self.scaler.scale(self.model(batch)))
            self.scheduler.step()  # expect: AMP213 likely

    def back(self, loss):
        loss.backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


class StepsThemInAMethod:
    def __init__(self, model, optimizer, batches):
        self.model, self.optimizer, self.batches = model, optimizer, batches
        self.scaler = GradScaler()
        self.scheduler = lr_scheduler.OneCycleLR(optimizer, 0.1, 100)

    def update_schedulers(self):
        self.scheduler.step()

    def fit(self):
        for batch in self.batches:
            self.optimizer.zero_grad()
            self.scaler.scale(self.model(batch)).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.update_schedulers()  # expect: AMP213 likely


class Optimizers:
    """Several optimizers by name, each with its schedule, and the rates are logged."""

    def __init__(self, optimizers, log):
        self.optimizers, self.log = optimizers, log
        self.schedulers = {name: lr_scheduler.OneCycleLR(each, 0.1, 100) for name, each in optimizers.items()}

    def zero(self):
        for optimizer in self.optimizers.values():
            optimizer.zero_grad()

    def scaled_steps(self, scaler):
        for _, optimizer in self.optimizers.items():
            scaler.step(optimizer)

    def scheduler_steps(self):
        for name, scheduler in self.schedulers.items():
            scheduler.step()
            self.log(name, scheduler.get_last_lr()[0])


class TrainsSeveral:
    def __init__(self, model, optimizers, log):
        self.model, self.optimizers = model, Optimizers(optimizers, log)
        self.scaler = GradScaler()

    def one_turn(self, batch):
        self.optimizers.zero()
        self.scaler.scale(self.model(batch)).backward()
        self.optimizers.scaled_steps(self.scaler)
        self.scaler.update()
        self.optimizers.scheduler_steps()  # expect: AMP213 likely
