"""A wait in every step: in the loop, under another name, in a helper."""

import time

import torch
from torch.cuda import synchronize as settle


def plain(model, criterion, optimizer, scaler, loader):
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        torch.cuda.synchronize()  # expect: PERF102


def renamed(model, criterion, optimizer, scaler, loader, on_gpu):
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        if on_gpu:
            settle()  # expect: PERF102
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def finish():
    torch.cuda.synchronize()  # expect: PERF102 likely


def through_a_helper(model, criterion, optimizer, scaler, loader):
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        finish()


def the_whole_run_is_timed(model, criterion, optimizer, scaler, loader):
    start = time.perf_counter()
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        torch.cuda.synchronize()  # expect: PERF102
    return time.perf_counter() - start


def stepped_by_a_callable(model, criterion, optimizer, loss_scaler, progress, loader):
    for images, labels in progress(loader):
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss_scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters())
        torch.cuda.synchronize()  # expect: PERF102


def many_turns_are_timed(model, criterion, optimizer, scaler, loader):
    start = time.time()
    for number, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        torch.cuda.synchronize()  # expect: PERF102
        if number % 100 == 0:
            print(time.time() - start)
            start = time.time()


def evaluate(model, criterion, loader):
    total = 0.0
    with torch.no_grad():
        for images, labels in loader:
            total += criterion(model(images), labels)
            torch.cuda.synchronize()  # expect: PERF102 likely
    return total
