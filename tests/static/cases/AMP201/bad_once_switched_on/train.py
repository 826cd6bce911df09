"""As it stands all trains in FP32: what is wrong is wrong once someone edits the switch."""

import settings
import torch
from torch.nn.utils import clip_grad_norm_


def train(model, criterion, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda") if settings.use_amp else None
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=settings.use_amp):
            loss = criterion(model(images), labels)
        if settings.use_amp:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        clip_grad_norm_(model.parameters(), settings.clip)  # expect: AMP201 likely
        if settings.use_amp:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()


def train_when_told(model, criterion, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if not settings.use_amp:
        return
    scaler = torch.amp.GradScaler("cuda")
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        clip_grad_norm_(model.parameters(), settings.clip)  # expect: AMP201 likely
        scaler.step(optimizer)
        scaler.update()


def train_as_set(model, criterion, loader):
    """Unscaled as it stands: that someone may switch it off is no fault of today's."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        if settings.unscale:
            scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), settings.clip)
        scaler.step(optimizer)
        scaler.update()
        if settings.use_amp:
            optimizer.zero_grad()


def back(loss, scaler):
    scaler.scale(loss).backward()


def move(optimizer, scaler):
    scaler.step(optimizer)
    scaler.update()


def train_by_helpers(model, criterion, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    by_hand = False
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=by_hand):
            loss = criterion(model(images), labels)
        if by_hand:
            back(loss, scaler)
        else:
            loss.backward()
        clip_grad_norm_(model.parameters(), settings.clip)  # expect: AMP201 likely
        if by_hand:
            move(optimizer, scaler)
        else:
            optimizer.step()
