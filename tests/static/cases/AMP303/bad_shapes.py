"""Switches that do not go together."""

import torch
from torch.cuda.amp import GradScaler, autocast


def off_and_on(model, optimizer, batches):
    scaler = GradScaler(enabled=False)  # expect: AMP303
    for batch in batches:
        with autocast():
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def two_settings(model, optimizer, batches, args):
    scaler = GradScaler(enabled=args.loss_scaling)  # expect: AMP303 likely
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16, enabled=args.amp):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


class Unscaled:
    def scale(self, loss):
        return loss


class ByTwoParts:
    """One part of the configuration asks for the scaler, another for the region."""

    def __init__(self, model, optimizer, cfg):
        self.model, self.optimizer, self.cfg = model, optimizer, cfg
        if not cfg.trainer.use_grad_scalar:
            self.grad_scalar = Unscaled()
        else:
            self.grad_scalar = GradScaler(init_scale=2**10, enabled=True)  # expect: AMP303 likely

    def step(self, batch):
        with autocast(enabled=self.cfg.diffusion.autocast_train):
            loss = self.model(batch)
        self.grad_scalar.scale(loss).backward()
        self.grad_scalar.step(self.optimizer)
        self.grad_scalar.update()
        self.optimizer.zero_grad()


def on_cuda_and_if_asked(model, optimizer, batches, args):
    scaler = GradScaler(enabled=torch.cuda.is_available() and args.enable_scaler)  # expect: AMP303 likely
    for batch in batches:
        with autocast(enabled=args.enable_amp):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def on_without_the_region(model, optimizer, batches, use_amp):
    scaler = GradScaler()  # expect: AMP303 likely
    for batch in batches:
        with autocast(enabled=use_amp):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


class OnForEvaluationToo:
    def __init__(self, model, optimizer, train_in_half, test_in_half):
        self.model, self.optimizer = model, optimizer
        self.train_in_half, self.test_in_half = train_in_half, test_in_half
        self.scaler = GradScaler(enabled=self.test_in_half or self.train_in_half)  # expect: AMP303 likely

    def step(self, batch):
        with autocast(enabled=self.train_in_half):
            loss = self.model(batch)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()


def off_by_a_setting(model, optimizer, batches, settings):
    scaler = GradScaler()
    if settings.get("plain", False):
        scaler = GradScaler(enabled=False)  # expect: AMP303 likely
    for batch in batches:
        with autocast():
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def asks_whether_there_is_one(model, optimizer, batches, use_amp):
    scaler = GradScaler()  # expect: AMP303 likely
    for batch in batches:
        with autocast(enabled=use_amp):
            loss = model(batch)
        optimizer.zero_grad()
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
        else:
            loss.backward()
            optimizer.step()
        scaler.update()


def off_where_a_setting_says_so(model, optimizer, batches, args):
    scaler = GradScaler()  # expect: AMP303 likely
    for batch in batches:
        with autocast(enabled=not args.disable_mixed_precision):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
