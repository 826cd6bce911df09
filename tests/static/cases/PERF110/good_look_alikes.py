"""Losses without graphs, losses that are differentiated together, sums of a turn."""

import torch


def detached(model, criterion, optimizer, scaler, loader):
    total, seen, host = 0.0, [], 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        total += loss.detach()
        seen.append(loss.item())
        host += float(loss)
        total += loss.data / 2
    return total, seen, host


def rebound(model, criterion, optimizer, loader):
    total = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        loss = loss.item()
        total += loss
    return total


def differentiated_together(model, criterion, optimizer, scaler, loader):
    optimizer.zero_grad()
    total = 0.0
    for images, labels in loader:
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        total += loss
    scaler.scale(total / len(loader)).backward()
    scaler.step(optimizer)
    scaler.update()


def parts_of_a_step(model, criterion, optimizer, scaler, loader):
    for views, labels in loader:
        optimizer.zero_grad()
        parts = []
        total = 0.0
        with torch.autocast("cuda"):
            for view in views:
                loss = criterion(model(view), labels)
                parts.append(loss)
                total += loss
        scaler.scale(sum(parts) + total).backward()
        scaler.step(optimizer)
        scaler.update()


@torch.no_grad()
def decorated(model, criterion, loader):
    total = 0.0
    for images, labels in loader:
        loss = criterion(model(images), labels)
        total += loss
    return total


def under_the_callers(model, criterion, loader):
    total = 0.0
    for images, labels in loader:
        loss = criterion(model(images), labels)
        total += loss
    return total


def caller(model, criterion, loader):
    with torch.inference_mode():
        return under_the_callers(model, criterion, loader)


def counts(model, loader):
    right = 0
    for images, labels in loader:
        right += (model(images).argmax(1) == labels).sum()
    return right
