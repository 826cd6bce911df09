"""Steps outside every active region, however close a region is."""

from contextlib import nullcontext

import torch


def after_the_region(model, loss_fn, optimizer, scaler, batches):
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def in_an_island(model, loss_fn, optimizer, scaler, batches):
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            loss = loss_fn(model(inputs), targets)
        with torch.autocast("cuda", enabled=False):
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


def no_region_at_all(model, loss_fn, optimizer, batches):
    for inputs, targets in batches:
        with nullcontext():
            loss = loss_fn(model(inputs), targets)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


def region_on_the_forward(model, loss_fn, optimizer, scheduler, batches):
    @torch.autocast("cuda", dtype=torch.bfloat16)
    def losses(inputs, targets):
        scheduler.step()
        return loss_fn(model(inputs), targets)

    for inputs, targets in batches:
        loss = losses(inputs, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def region_left_by_a_jump(model, loss_fn, optimizer, scaler, batches, limit):
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            loss = loss_fn(model(inputs), targets)
            if limit:
                break
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
