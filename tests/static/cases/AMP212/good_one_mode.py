"""Two ways to train, each of which zeroes: which one is decided anew each epoch or each turn, and comes out the same."""

import os

import torch


def both(amp, model, optimizer, scaler, batch):
    if amp:
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    else:
        optimizer.zero_grad()
        model(batch).backward()
        optimizer.step()


def by_keyword(model, optimizer, loader, **options):
    scaler = options.get("scaler", None)
    for batch in loader:
        if scaler is not None:
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        else:
            optimizer.zero_grad()
            model(batch).backward()
            optimizer.step()


def by_item(model, optimizer, loader, scaler, config):
    amp = config["train"]["amp"]
    for batch in loader:
        both(amp, model, optimizer, scaler, batch)


def by_environment(model, optimizer, loader, scaler):
    for batch in loader:
        both(os.environ.get("AMP", "0") == "1", model, optimizer, scaler, batch)


def by_method(model, optimizer, loader, scaler, config):
    for batch in loader:
        if config.wants_amp():
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        else:
            optimizer.zero_grad()
            model(batch).backward()
            optimizer.step()


def by_function(model, optimizer, loader, scaler, config):
    amp = any(part.half for part in config.parts)
    for batch in loader:
        if amp:
            scaler.scale(model(batch)).backward()
        else:
            optimizer.zero_grad()
            model(batch).backward()
        if amp:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        else:
            optimizer.step()


def by_scaler(model, optimizer, loader, scaler):
    for batch in loader:
        if scaler.is_enabled():
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        else:
            optimizer.zero_grad()
            model(batch).backward()
            optimizer.step()


def main_by_keyword(model, optimizer, loader, config):
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(config.epochs):
        by_keyword(model, optimizer, loader, scaler=scaler)


def main_by_item(model, optimizer, loader, config):
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(config.epochs):
        by_item(model, optimizer, loader, scaler, config)


def main_by_environment(model, optimizer, loader, config):
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(config.epochs):
        by_environment(model, optimizer, loader, scaler)


def main_by_function(model, optimizer, loader, config):
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(config.epochs):
        by_function(model, optimizer, loader, scaler, config)
