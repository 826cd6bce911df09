"""A clip whose limit nothing reaches tells the norm: of gradients that are still scaled."""

import math

import torch
from torch.nn.utils import clip_grad_norm_


def train(model, optimizer, scaler, batches):
    for inputs in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(inputs)
        scaler.scale(loss).backward()
        norm = clip_grad_norm_(model.parameters(), float("inf"))  # expect: AMP204
        print(norm)
        scaler.step(optimizer)
        scaler.update()


def train_other(model, optimizer, scaler, batches):
    for inputs in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(inputs)
        scaler.scale(loss).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1e9)  # expect: AMP204
        other = torch.nn.utils.clip_grad_norm_(model.parameters(), math.inf)  # expect: AMP204
        print(norm, other)
        scaler.step(optimizer)
        scaler.update()
