"""Keys that are put where `reduce` leads, so that the source does not name the dict they go into."""

from functools import reduce
from operator import getitem

import torch


def put(settings, keys, value):
    inner = reduce(getitem, keys[:-1], settings)
    inner[keys[-1]] = value


def converted(given):
    settings = {"model": {"depth": 4}, "features": {"window": 25}}
    for keys, value in given:
        put(settings, keys, value)
    return settings["features"]["rate"], settings["model"]["width"]


def train(model, optimizer, scaler, batches, given):
    print(converted(given))
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
