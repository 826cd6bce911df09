"""The loader is one of several in a dict that a function of another file returns."""

import torch
from data import loaders


def train(model, loss_fn, optimizer, rows):
    held = loaders(rows)
    for batch in held["train"]:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_fn(model(batch["inputs"]), batch["labels"])  # expect: KEY103
        loss.backward()
        optimizer.step()
