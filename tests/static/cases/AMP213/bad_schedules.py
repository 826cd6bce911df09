"""Schedules that count steps which the scaler may skip."""

import torch
from torch.amp import GradScaler
from torch.optim.lr_scheduler import OneCycleLR


def after_the_update(model, optimizer, scaler, batches, scheduler):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()  # expect: AMP213 likely


def before_the_step(model, batches):
    scaler = GradScaler("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    cycle = OneCycleLR(optimizer, 0.1, total_steps=1000)
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        cycle.step()  # expect: AMP213
        scaler.step(optimizer)
        scaler.update()


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.lr_scheduler = OneCycleLR(self.optimizer, 0.1, total_steps=1000)
        self.scaler = GradScaler("cuda")

    def train_step(self, batch):
        self.optimizer.zero_grad()
        self.scaler.scale(self.model(batch)).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.lr_scheduler.step()  # expect: AMP213 likely


def once_for_several_tasks(models, optimizers, scaler, loaders, scheduler, steps):
    for epoch in range(3):
        for step in range(steps):
            for task in range(len(models)):
                optimizers[task].zero_grad()
                scaler.scale(models[task](next(loaders[task]))).backward()
                scaler.step(optimizers[task])
                scaler.update()
            scheduler.step()  # expect: AMP213 likely


class WarmUp:
    def step_batch(self, number):
        self.number = number


def told_the_number_before_the_step(model, optimizer, scaler, batches, scheduler: WarmUp):
    for number, batch in enumerate(batches):
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        if scheduler is not None:
            scheduler.step_batch(number)  # expect: AMP213 likely
        scaler.step(optimizer)
        scaler.update()


def a_growth_is_no_skip(model, optimizer, scaler, batches, scheduler):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        skipped = scaler.get_scale() != before  # expect: AMP213 likely
        if not skipped:
            scheduler.step()


def only_while_the_scale_stays(model, optimizer, scaler, batches, scheduler):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if before == scaler.get_scale():  # expect: AMP213 likely
            scheduler.step()


class HalfCosine(torch.optim.lr_scheduler.LRScheduler):
    def get_lr(self):
        return [0.5 * rate for rate in self.base_lrs]


def of_the_projects_own_make(model, batches):
    scaler = GradScaler("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    decay = HalfCosine(optimizer)
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        decay.step()  # expect: AMP213 likely


class Manager:
    """One that may be given no schedule."""

    def __init__(self):
        self.scaler = GradScaler("cuda")

    def apply(self, optimizer, scheduler=None):
        self.scaler.step(optimizer)
        self.scaler.update()
        if scheduler is not None:
            scheduler.step()  # expect: AMP213 likely


class Late:
    """Its schedule is made when the training begins."""

    def __init__(self, model):
        self.model = model
        self.scheduler = None
        self.scaler = GradScaler("cuda")

    def begin(self, optimizer, make_scheduler):
        self.optimizer = optimizer
        self.scheduler = make_scheduler(optimizer)

    def one_step(self, batch):
        self.optimizer.zero_grad()
        self.scaler.scale(self.model(batch)).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()  # expect: AMP213 likely


def a_schedule_for_each(scaler, optimizers, schedulers, loss, update):
    scaler.scale(loss).backward()
    if update:
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
    for scheduler in schedulers:
        scheduler.step()  # expect: AMP213 likely


def the_scale_is_only_logged(model, optimizer, scaler, batches, scheduler, metrics):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()  # expect: AMP213 likely
        scale = scaler.get_scale()
        metrics["grad_scale"] = scale


def another_skip_is_asked_for_before(model, optimizer, scaler, batches, scheduler, skip_steps, limit):
    for number, batch in enumerate(batches):
        if number < skip_steps:
            continue
        optimizer.zero_grad()
        loss = model(batch)
        skip_optimizer_step = loss > limit
        scaler.scale(loss).backward()
        if not skip_optimizer_step:
            scaler.step(optimizer)
        scaler.update()
        scheduler.step()  # expect: AMP213 likely


def an_iterator_for_each_objective(losses, optimizers, loaders, scaler, scheduler, steps_per_epoch):
    for _ in range(steps_per_epoch):
        for index in range(len(losses)):
            optimizer = optimizers[index]
            iterator = iter(loaders[index])
            batch = next(iterator)
            scaler.scale(losses[index](batch)).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        scheduler.step()  # expect: AMP213 likely


def one_step(model, optimizer, scaler, batch):
    """It looks at the scale, and does not ask whether it fell."""
    optimizer.zero_grad()
    with torch.autocast("cuda"):
        loss = model(batch)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(scaler._scale)
    if scaler.get_scale() < 1.0:
        raise ValueError("the loss overflows whatever the scale")


def steps_of_a_function(model, optimizer, scheduler, scaler, loader, count, warmup):
    for _ in range(count):
        batch = next(loader)
        one_step(model, optimizer, scaler, batch)
        if warmup is not None:
            with warmup.dampening():
                scheduler.step()  # expect: AMP213 likely
        else:
            scheduler.step()  # expect: AMP213 likely


def train_at_several_scales(model, optimizer, scaler, scheduler, loader, args):
    for inputs, targets in loader:
        if args.multi_scale:
            inputs = resize(inputs, args.box_scale)
        with torch.autocast("cuda"):
            loss = model(inputs, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()  # expect: AMP213 likely
        optimizer.zero_grad()
