"""Evaluations in the precision of the training, of another model, of another quantity, or in float32 on purpose."""

import torch
from torch.amp import GradScaler, autocast


def train_epoch(model, criterion, optimizer, scaler, train_loader):
    for images, labels in train_loader:
        optimizer.zero_grad()
        with autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@torch.no_grad()
def covered_by_its_caller(model, criterion, loader):
    total = 0.0
    for images, labels in loader:
        total += criterion(model(images), labels)
    return total


@torch.no_grad()
def of_another_model(model, criterion, loader):
    total = 0.0
    for images, labels in loader:
        total += criterion(model(images), labels)
    return total


@torch.no_grad()
def in_float32_on_purpose(model, criterion, loader):
    total = 0.0
    for images, labels in loader:
        with autocast("cuda", enabled=False):
            total += criterion(model(images), labels)
    return total


@torch.no_grad()
def where_amp_is_on(model, criterion, loader, amp):
    total = 0.0
    for images, labels in loader:
        if amp:
            with autocast("cuda"):
                outputs = model(images)
        else:
            outputs = model(images)
        total += criterion(outputs, labels)
    return total


@torch.no_grad()
def of_cast_weights(model, criterion, loader):
    model.half()
    total = 0.0
    for images, labels in loader:
        total += criterion(model(images.half()), labels)
    model.float()
    return total


@torch.no_grad()
def of_another_quantity(model, accuracy, loader):
    right = 0.0
    for images, labels in loader:
        right += accuracy(model(images), labels)
    return right


def fit(model, averaged, optimizer, accuracy, train_loader, loader, amp):
    criterion = torch.nn.CrossEntropyLoss()
    scaler = GradScaler("cuda")
    for _ in range(10):
        train_epoch(model, criterion, optimizer, scaler, train_loader)
        with autocast("cuda"):
            print(covered_by_its_caller(model, criterion, loader))
        print(of_another_model(averaged, criterion, loader))
        print(in_float32_on_purpose(model, criterion, loader))
        print(where_amp_is_on(model, criterion, loader, amp))
        print(of_cast_weights(model, criterion, loader))
        print(of_another_quantity(model, accuracy, loader))


class Net(torch.nn.Module):
    """Sees to its precision itself."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    @autocast("cuda")
    def forward(self, inputs):
        return self.layer(inputs)


def of_a_net_with_its_own_region(optimizer, loss_fn, train_loader, loader):
    model = Net()
    scaler = GradScaler("cuda")
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        with autocast("cuda"):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    total = 0.0
    with torch.no_grad():
        for inputs, targets in loader:
            total += loss_fn(model(inputs), targets)
    return total


def by_another_framework(model, loss_fn, optimizer, accelerator, train_loader, loader):
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(inputs), targets)
        accelerator.backward(loss)
        optimizer.step()
    total = 0.0
    with torch.no_grad(), autocast("cuda", dtype=torch.bfloat16):
        for inputs, targets in loader:
            total += loss_fn(model(inputs), targets)
    return total


def both_phases_in_one_region(net, loss_fn, optimizer, scaler, loaders):
    for phase in ("train", "val"):
        for inputs, targets in loaders[phase]:
            optimizer.zero_grad()
            if phase == "val":
                with torch.no_grad(), autocast("cuda"):
                    outputs = net(inputs)
            else:
                with autocast("cuda"):
                    outputs = net(inputs)
            loss = loss_fn(outputs, targets)
            if phase == "train":
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()


def targets_of_its_own(net, loss_fn, optimizer, scaler, loader, warm):
    for step, inputs in enumerate(loader):
        optimizer.zero_grad()
        if step < warm:
            with torch.no_grad():
                soft = net(inputs)
        else:
            with autocast("cuda"):
                drawn = net(inputs)
        with torch.no_grad():
            outputs = net(inputs)
        with autocast("cuda"):
            outputs = net(inputs)
            loss = loss_fn(outputs, soft if step < warm else drawn)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def in_half_or_not(net, loss_fn, optimizer, scaler, loader, half):
    for inputs, targets in loader:
        optimizer.zero_grad()
        if half:
            with autocast("cuda"):
                outputs = net(inputs)
        else:
            outputs = net(inputs)
        loss = loss_fn(outputs, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
