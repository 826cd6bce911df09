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


def by_another_name(model, criterion, optimizer, scaler, loader, window):
    for step, (images, labels) in enumerate(loader):
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels) / window
        scaler.scale(loss).backward()
        full = (step + 1) % window == 0
        rare = (step + 1) % 500 == 0
        if full:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        if rare:
            torch.cuda.empty_cache()
        if full and rare:
            torch.cuda.empty_cache()
        if full:
            print(step)
        else:
            torch.cuda.empty_cache()


def in_the_other_turns(model, criterion, optimizer, scaler, loader, window):
    for step, (images, labels) in enumerate(loader):
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        rare = (step + 1) % 500 == 0
        warm = step < window
        if rare or warm:
            print(step)
        else:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        if rare:
            print(loss)
        else:
            torch.cuda.empty_cache()


def of_what_is_no_number(model, criterion, optimizer, loss_scaler, meter, loader):
    for step, (images, labels) in enumerate(loader):
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        loss_scaler(loss, optimizer)
        failed = loss > 100
        if failed:
            optimizer.zero_grad()
            torch.cuda.empty_cache()
        if step % 500 == 0:
            meter.zero_grad()
            torch.cuda.empty_cache()


class Language:
    """No module: what it is called on is text."""

    def __call__(self, text):
        return text.split()


def count_words(loader):
    model = Language()
    for text in loader:
        torch.cuda.empty_cache()
        print(len(model(text)))
