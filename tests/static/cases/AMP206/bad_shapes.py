"""Backwards on losses that nothing scaled, though a live scaler steps."""

import torch
from torch.amp import GradScaler
from torch.cuda.amp import GradScaler as CudaScaler


def result_dropped(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        scaler.scale(loss)
        loss.backward()  # expect: AMP206
        scaler.step(optimizer)
        scaler.update()


def forgotten(model, optimizer, batches):
    grad_scaler = GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        model(batch).backward()  # expect: AMP206
        grad_scaler.unscale_(optimizer)
        grad_scaler.step(optimizer)
        grad_scaler.update()


def scaled_result_in_another_name(model, optimizer, batches):
    s = CudaScaler()
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        scaled = s.scale(loss)
        print(scaled)
        loss.backward()  # expect: AMP206
        s.step(optimizer)
        s.update()


class Base:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.amp_scaler = GradScaler("cuda")

    def finish(self):
        self.amp_scaler.step(self.optimizer)
        self.amp_scaler.update()
        self.optimizer.zero_grad()


class Trainer(Base):
    def train_step(self, batch):
        loss = self.model(batch)
        loss.backward()  # expect: AMP206
        self.finish()


def accumulated(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        (model(batch) / window).backward()  # expect: AMP206
        if (i + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def second_loss_left_out(model, optimizer, scaler, batch):
    optimizer.zero_grad()
    first, second = model(batch)
    scaler.scale(first).backward(retain_graph=True)
    second.backward()  # expect: AMP206
    scaler.step(optimizer)
    scaler.update()


def both_arms_of_the_twin(model, optimizer, loss, use_amp):
    scaler = GradScaler("cuda") if use_amp else None
    loss.backward()  # expect: AMP206
    if scaler is not None:
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()
