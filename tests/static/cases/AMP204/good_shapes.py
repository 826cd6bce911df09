"""Readings of what is not scaled, or is divided by the scale."""

import torch


def after_unscale(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        print(torch.stack([p.grad.norm() for p in model.parameters()]).norm())
        scaler.step(optimizer)
        scaler.update()


def after_the_step(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    print(max(p.grad.abs().max() for p in model.parameters()))
    scaler.update()


def divided_by_hand(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    total = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
    print(total / scaler.get_scale())
    scaler.step(optimizer)
    scaler.update()


def only_in_float32(model, optimizer, scaler, loss, use_amp):
    if use_amp:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        print(sum(p.grad.norm() for p in model.parameters()))
        optimizer.step()


def linear(model, optimizer, scaler, loss, world):
    scaler.scale(loss).backward()
    for p in model.parameters():
        p.grad.div_(world)
        torch.distributed.all_reduce(p.grad)
    scaler.step(optimizer)
    scaler.update()


def the_loss_itself(model, optimizer, scaler, batches, meter):
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        scaled = scaler.scale(loss)
        scaled.backward()
        scaler.step(optimizer)
        scaler.update()
        meter.update(loss.item())


def rebound(model, optimizer, scaler, batches, meter):
    for batch in batches:
        loss = scaler.scale(model(batch))
        loss.backward()
        scaler.step(optimizer)
        scaler.update()
        loss = model.measure(batch)
        meter.update(loss.item())


def the_other_arm(model, optimizer, scaler, loss, meter, use_amp):
    if use_amp:
        loss = scaler.scale(loss)
        loss.backward()
    else:
        loss.backward()
        meter.update(loss.item())


def squares_of_what_is_unscaled(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    held = sum(p.grad is not None for p in model.parameters()) + sum(p.numel() ** 2 for p in model.parameters())
    scaler.unscale_(optimizer)
    print(held, sum((p.grad**2).sum() for p in model.parameters()))
    scaler.step(optimizer)
    scaler.update()
