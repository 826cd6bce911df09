"""The constant switches the scaler off until someone edits it."""

import settings
import torch


def epoch_behind_a_switch(model, criterion, optimizer, loader):
    if settings.use_amp:
        scaler = torch.amp.GradScaler("cuda")  # expect: AMP301 likely
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=settings.use_amp):
            loss = criterion(model(images), labels)
        if settings.use_amp:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()


def epoch_behind_another(model, criterion, optimizer, loader):
    if settings.clip:
        scaler = torch.amp.GradScaler("cuda")  # expect: AMP301
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def train(model, criterion, loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(epochs):
        epoch_behind_a_switch(model, criterion, optimizer, loader)
        epoch_behind_another(model, criterion, optimizer, loader)
