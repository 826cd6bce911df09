"""Who gets the loss scales it, or it is only looked at."""

import torch
from torch import nn


def objective(net, inputs, targets):
    with torch.autocast("cuda", dtype=torch.float16):
        return nn.functional.mse_loss(net(inputs), targets)


def train(net, optimizer, scaler, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        error = objective(net, inputs, targets)
        scaler.scale(error).backward()
        scaler.step(optimizer)
        scaler.update()


def validate(net, other, optimizer, batches):
    for inputs, targets in batches:
        measured = objective(net, inputs, targets)
        print(float(measured))
        optimizer.zero_grad()
        error = other(inputs).mean()
        error.backward()
        optimizer.step()
