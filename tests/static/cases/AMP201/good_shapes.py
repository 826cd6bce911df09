"""Clips that are right, though they look alike."""

import torch
from torch.amp import GradScaler, autocast


def in_order(model, optimizer, loss):
    scaler = GradScaler("cuda")
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()


def only_on_the_float32_path(model, optimizer, scaler, loss, use_amp):
    if use_amp:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def three_times_the_same_condition(model, optimizer, batches, args):
    scaler = GradScaler("cuda") if args.amp else None
    for batch in batches:
        with autocast("cuda", enabled=args.amp):
            loss = model(batch)
        if scaler is not None:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if scaler is not None:
            scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        optimizer.zero_grad()


def accumulated(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        scaler.scale(model(batch) / window).backward()
        if (i + 1) % window == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def measure_only(parameters, limit):
    total = 0.0
    for p in parameters:
        total += p.grad.norm() ** 2
        if limit is not None:
            p.grad.data.clamp_(-limit, limit)
    return total**0.5


def calls_its_own_clip_without_a_limit(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    measure_only(model.parameters(), None)
    scaler.step(optimizer)
    scaler.update()


def two_networks(net_d, net_g, optim_d, optim_g, scaler, loss_d, loss_g):
    optim_d.zero_grad()
    scaler.scale(loss_d).backward()
    scaler.unscale_(optim_d)
    torch.nn.utils.clip_grad_norm_(net_d.parameters(), 1.0)
    scaler.step(optim_d)
    optim_g.zero_grad()
    scaler.scale(loss_g).backward()
    scaler.unscale_(optim_g)
    torch.nn.utils.clip_grad_norm_(net_g.parameters(), 1.0)
    scaler.step(optim_g)
    scaler.update()
