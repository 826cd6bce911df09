"""The setting that turns the scaler off chooses a way without the region, too, or never turns it off."""

import torch
from torch.cuda.amp import GradScaler, autocast


def train(model, loader, criterion, optimizer, args):
    scaler = GradScaler(enabled=args.use_amp)
    for images, labels in loader:
        optimizer.zero_grad()
        if args.use_amp:
            with autocast():
                loss = criterion(model(images), labels)
        else:
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def in_half(model, loader, criterion, optimizer, scaler):
    for images, labels in loader:
        optimizer.zero_grad()
        with autocast():
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def chosen(model, loader, criterion, optimizer, args):
    scaler = GradScaler(enabled=args.amp)
    if args.amp:
        in_half(model, loader, criterion, optimizer, scaler)


def always(model, loader, criterion, optimizer):
    use_amp = True
    scaler = GradScaler(enabled=use_amp)
    in_half(model, loader, criterion, optimizer, scaler)


def bfloat16(model, loader, criterion, optimizer, args):
    scaler = GradScaler(enabled=args.amp)
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
