"""Reads that the step needs, or that are rare."""

import torch


def gates_the_scheduler(model, criterion, optimizer, scheduler, loader):
    scaler = torch.amp.GradScaler("cuda")
    for images, labels in loader:
        before = scaler.get_scale()
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() >= before:
            scheduler.step()


def penalty(model, criterion, optimizer, loader, penalise):
    scaler = torch.amp.GradScaler("cuda")
    for images, labels in loader:
        inverse = 1.0 / scaler.get_scale()
        penalise(inverse)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def rarely(model, criterion, optimizer, loader, period):
    scaler = torch.amp.GradScaler("cuda")
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if step % period == 0:
            print(scaler.get_scale())


def another_object(model, criterion, optimizer, scaler, loader, camera):
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        print(camera.get_scale())
