"""The scaler is off for good, the region is on where a setting says so."""

import torch


def by_a_setting(model, optimizer, loader, loss_fn, use_amp):
    scaler = torch.amp.GradScaler("cuda", enabled=False)  # expect: AMP303 likely
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=use_amp):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


class Trainer:
    def __init__(self, model, optimizer, precision):
        self.model, self.optimizer, self.precision = model, optimizer, precision
        self.scaler = None
        if self.precision == "amp":
            self.scaler = torch.amp.GradScaler("cuda", enabled=False)  # expect: AMP303 likely

    def step(self, inputs, targets, loss_fn):
        self.optimizer.zero_grad()
        if self.precision == "amp":
            with torch.autocast("cuda", dtype=torch.float16):
                loss = loss_fn(self.model(inputs), targets)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            loss = loss_fn(self.model(inputs), targets)
            loss.backward()
            self.optimizer.step()


def one_of_two_dtypes(model, optimizer, loader, loss_fn, half):
    dtype = torch.float16 if half else torch.bfloat16
    scaler = torch.amp.GradScaler("cuda", enabled=False)  # expect: AMP303 likely
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=dtype):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
