"""The dtype is named, or the device is no GPU, or what comes in decides."""

import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def train(model, loss_fn, optimizer, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast(device_type=device.type, dtype=torch.bfloat16):
            loss = loss_fn(model(inputs.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()


def train_on_the_cpu(model, loss_fn, optimizer, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast(device_type=torch.device("cpu").type):
            loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()


def train_anywhere(model, loss_fn, optimizer, batches, device_type):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast(device_type):
            loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()
