"""Backwards that are right, though they look unscaled."""

from functools import partial

import torch
from torch.amp import GradScaler


def rebound(model, optimizer, scaler, batch):
    loss = model(batch)
    loss = scaler.scale(loss)
    loss.backward()
    scaler.step(optimizer)
    scaler.update()


def twin(model, optimizer, batch, use_amp):
    scaler = GradScaler("cuda") if use_amp else None
    loss = model(batch)
    if use_amp:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        optimizer.step()


def twin_by_expression(model, optimizer, batch, scaler):
    loss = model(batch)
    scaler.scale(loss).backward() if scaler else loss.backward()
    if scaler:
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()


def twin_by_value(model, optimizer, batch, scaler):
    loss = model(batch)
    (scaler.scale(loss) if scaler is not None else loss).backward()
    if scaler is not None:
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()


class LossScaler:
    """The callable wrapper that vision repositories share."""

    def __init__(self):
        self._scaler = GradScaler("cuda")

    def __call__(self, loss, optimizer, clip_grad=None, parameters=None, need_update=True):
        self._scaler.scale(loss).backward()
        if need_update:
            if clip_grad is not None:
                self._scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(parameters, clip_grad)
            self._scaler.step(optimizer)
            self._scaler.update()


def train_with_wrapper(model, optimizer, batches, window):
    loss_scaler = LossScaler()
    for i, batch in enumerate(batches):
        loss = model(batch) / window
        loss_scaler(loss, optimizer, parameters=model.parameters(), need_update=(i + 1) % window == 0)
        if (i + 1) % window == 0:
            optimizer.zero_grad()


def gan(net_d, net_g, optim_d, optim_g, scaler_d, scaler_g, real, noise):
    optim_d.zero_grad()
    scaler_d.scale(net_d(real).mean() - net_d(net_g(noise).detach()).mean()).backward()
    scaler_d.step(optim_d)
    scaler_d.update()
    optim_g.zero_grad()
    scaler_g.scale(-net_d(net_g(noise)).mean()).backward()
    scaler_g.step(optim_g)
    scaler_g.update()


def generator_in_float32(net_d, net_g, optim_d, optim_g, scaler, real, noise):
    optim_d.zero_grad()
    scaler.scale(net_d(real).mean()).backward()
    scaler.step(optim_d)
    scaler.update()
    optim_g.zero_grad()
    (-net_d(net_g(noise)).mean()).backward()
    optim_g.step()


def list_of_losses(model, optimizer, scaler, batch):
    losses = [scaler.scale(loss) for loss in model(batch)]
    total = sum(losses)
    total.backward()
    scaler.step(optimizer)
    scaler.update()


def no_scaler_here(model, optimizer, batches):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def by_callback(model, optimizer, batches, scaler=None):
    backward = partial(scaler.scale) if scaler else (lambda loss: loss)
    for batch in batches:
        backward(model(batch)).backward()
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()


def no_turn_of_the_loop(model, optimizer, scaler, batches, window):
    """The loop may have no turn: the step after it then meets what an earlier call left, or nothing."""
    for micro in batches:
        scaler.scale(model(micro) / window).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


def train(model, optimizer, scaler, epochs, window):
    for batches in epochs:
        no_turn_of_the_loop(model, optimizer, scaler, batches, window)


def switched_by_a_condition(model, optimizer, batches, device, dtype):
    scaler = GradScaler(device.type, enabled=device.type == "cuda" and dtype is torch.float16)
    for batch in batches:
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
