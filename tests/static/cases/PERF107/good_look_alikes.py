"""Indexed at once, stacked before the loop, stacked outputs."""

import torch


def at_once(model, criterion, optimizer, scaler, samples, answers):
    for _ in range(1000):
        picks = torch.randint(len(samples), (32,))
        images, labels = samples[picks], answers[picks]
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def before_the_loop(model, criterion, optimizer, scaler, samples, loader):
    table = torch.stack([samples[i] for i in range(10)])
    for images, labels in loader:
        images = images + table
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def outputs(model, criterion, optimizer, scaler, loader):
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            scales = model(images)
            loss = torch.stack([criterion(scales[k], labels) for k in range(3)]).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
