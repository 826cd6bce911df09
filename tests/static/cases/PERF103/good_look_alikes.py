"""The cache is emptied between phases, after an error, in some steps."""

import torch


def between_phases(model, criterion, optimizer, scaler, loader, epochs):
    for _ in range(epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = criterion(model(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        torch.cuda.empty_cache()


def after_an_error(model, criterion, optimizer, scaler, loader):
    for images, labels in loader:
        optimizer.zero_grad()
        try:
            with torch.autocast("cuda"):
                loss = criterion(model(images), labels)
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
            continue
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def now_and_then(model, criterion, optimizer, scaler, loader, evaluate):
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if step % 500 == 499:
            evaluate(model)
            torch.cuda.empty_cache()
