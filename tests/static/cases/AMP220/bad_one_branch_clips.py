"""One condition decides whether the scaler steps; only one of its branches clips."""

import torch
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


def without_a_scaler_only(model, batches, optimizer, use_amp):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=use_amp):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
        if use_amp:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP220 likely
            optimizer.step()


def with_it_only(model, batches, optimizer, half, limit=None):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=half):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
        if not half:
            loss.backward()
            optimizer.step()
            continue
        scaler.scale(loss).backward()
        if limit is not None:
            scaler.unscale_(optimizer)
            clip_grad_value_(model.parameters(), limit)  # expect: AMP220 likely
        scaler.step(optimizer)
        scaler.update()


def on_a_flag_of_its_own(net, batches, opt, grad_scaler, limit):
    for x, y in batches:
        opt.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        if grad_scaler is not None:
            grad_scaler.scale(loss).backward()
        else:
            loss.backward()
            if limit:
                clip_grad_norm_(net.parameters(), limit)  # expect: AMP220 likely
        if grad_scaler is not None:
            grad_scaler.step(opt)
            grad_scaler.update()
        else:
            opt.step()


def by_the_switch_of_the_scaler(model, batches, optimizer, amp):
    scaler = torch.amp.GradScaler("cuda", enabled=amp)
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=amp):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(loss).backward()
        if amp:
            scaler.unscale_(optimizer)
            clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP220 likely
        scaler.step(optimizer)
        scaler.update()


def by_a_scaler_that_may_be_off(model, batches, optimizer, config):
    scaler = torch.amp.GradScaler("cuda", enabled=config.dtype == "float16")
    for inputs, targets in batches:
        if config.amp:
            with torch.autocast("cuda"):
                loss = torch.nn.functional.mse_loss(model(inputs), targets)
            scaler.scale(loss).backward()
            if config.limit != 0.0:
                scaler.unscale_(optimizer)
                clip_grad_norm_(model.parameters(), config.limit)  # expect: AMP220 likely
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        else:
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


class Trainer:
    def __init__(self, model, fp16):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda") if fp16 else None

    def iteration(self, inputs, targets):
        self.optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(self.model(inputs), targets)
        if self.scaler:
            return self.mixed(loss)
        return self.full(loss)

    def mixed(self, loss):
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss

    def full(self, loss):
        loss.backward()
        for parameter in self.model.parameters():
            parameter.grad.clamp_(-1.0, 1.0)  # expect: AMP220 likely
        self.optimizer.step()
        return loss
