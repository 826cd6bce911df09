"""A scaled loss is handed on twice, and divided under the parameter's own name, which says nothing."""

import torch


def divided(value, parts):
    value = value / parts
    value.backward()


def weighted(value, weight):
    divided(value * weight, 2)


def train(model, optimizer, batches, wanted):
    scaler = torch.amp.GradScaler("cuda", enabled=wanted)
    for batch in batches:
        optimizer.zero_grad()
        weighted(scaler.scale(model(batch)), weight=3)
        scaler.step(optimizer)
        scaler.update()
