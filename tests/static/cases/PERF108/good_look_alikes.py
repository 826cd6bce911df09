"""Fenced spans, spans over the data, spans over epochs, spans that wrap around a turn."""

import time

import torch


def fenced(model, criterion, optimizer, scaler, loader):
    spent = 0.0
    for images, labels in loader:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        torch.cuda.synchronize()
        spent += time.perf_counter() - begin
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return spent


def settle():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def fenced_by_a_helper(model, batch):
    begin = time.perf_counter()
    with torch.autocast("cuda"):
        model(batch)
    settle()
    return time.perf_counter() - begin


def fenced_by_a_read(model, criterion, optimizer, scaler, images, labels):
    begin = time.perf_counter()
    with torch.autocast("cuda"):
        loss = criterion(model(images), labels)
    scaler.scale(loss).backward()
    value = loss.item()
    return value, time.perf_counter() - begin


def fenced_by_the_scaler(model, criterion, optimizer, images, labels):
    scaler = torch.amp.GradScaler("cuda")
    begin = time.perf_counter()
    with torch.autocast("cuda"):
        loss = criterion(model(images), labels)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return time.perf_counter() - begin


def an_epoch(model, criterion, optimizer, loader):
    begin = time.time()
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
    return time.time() - begin


def around_a_turn(model, criterion, optimizer, loader):
    end = time.time()
    for images, labels in loader:
        waited = time.time() - end
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        took = time.time() - end
        end = time.time()
        yield waited, took


def loading(loader, model):
    begin = time.time()
    batch = next(loader)
    waited = time.time() - begin
    with torch.autocast("cuda"):
        model(batch)
    return waited


def told_to_a_writer(model, criterion, optimizer, loader, writer):
    spent = 0.0
    for step, (inputs, targets) in enumerate(loader):
        begun = time.time()
        with torch.autocast("cuda"):
            loss = criterion(model(inputs.cuda()), targets.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar("loss", loss.data, step)
        spent += time.time() - begun
    print(spent)


def waits_on_entering(model, loader, stopwatch):
    spent = 0.0
    for images in loader:
        begin = time.time()
        with torch.autocast("cuda"):
            outputs = model(images.cuda())
            with stopwatch.synchronized():
                spent += time.time() - begin
        yield outputs
    print(spent)
