"""Direct steps that are right."""

import torch
from torch.amp import GradScaler


def float32_twin(model, optimizer, loss, use_amp):
    scaler = GradScaler("cuda", enabled=use_amp)
    if use_amp:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        optimizer.step()


def behind_a_check_of_its_own(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if torch.isfinite(norm):
        optimizer.step()
    scaler.update()


def other_optimizer_in_float32(model, head, optimizer, head_optimizer, scaler, batch):
    optimizer.zero_grad()
    head_optimizer.zero_grad()
    scaler.scale(model(batch)).backward()
    scaler.step(optimizer)
    scaler.update()
    head_optimizer.zero_grad()
    head(batch).sum().backward()
    head_optimizer.step()


def schedule_and_other_steps(model, optimizer, scaler, scheduler, profiler, loss):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    profiler.step()


def early_return(model, optimizer, loss, scaler=None):
    if scaler is None:
        loss.backward()
        optimizer.step()
        return
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def condition_given_to_the_constructor(model, optimizer, batches, device):
    scaler = GradScaler("cuda", enabled=device.type == "cuda")
    for batch in batches:
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def no_turn_at_all(model, optimizer, scaler, batches):
    for batch in batches:
        scaler.scale(model(batch)).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)


def run(model, optimizer, scaler, steps):
    for batches in steps:
        no_turn_at_all(model, optimizer, scaler, batches)
