"""Regions that end before the next forward, keep no casts, or hold steps of one optimizer after another."""

import torch


def whole_body_each_turn(model, loss_fn, optimizer, scaler, batches):
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            optimizer.zero_grad()
            loss = loss_fn(model(inputs), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


def casts_not_kept(model, loss_fn, optimizer, batches):
    with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss_fn(model(inputs), targets).backward()
            optimizer.step()


def evaluation_in_one_region(model, loss_fn, loader):
    total = 0.0
    with torch.no_grad(), torch.autocast("cuda"):
        for inputs, targets in loader:
            total += loss_fn(model(inputs), targets).item()
    return total


def several_backwards_one_step(model, loss_fn, optimizer, scaler, groups):
    for group in groups:
        with torch.autocast("cuda"):
            for inputs, targets in group:
                scaler.scale(loss_fn(model(inputs), targets)).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def independent_members(members, loss_fn, inputs, targets):
    with torch.autocast("cuda"):
        for model, optimizer in members:
            loss_fn(model(inputs), targets).backward()
            optimizer.step()


def two_players(first, second, first_opt, second_opt, batches):
    for inputs in batches:
        with torch.autocast("cuda"):
            first(inputs).mean().backward()
            first_opt.step()
            second(inputs).mean().backward()
            second_opt.step()


def island_around_float32_training(model, loss_fn, optimizer, batches):
    with torch.autocast("cuda", enabled=False):
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss_fn(model(inputs), targets).backward()
            optimizer.step()
