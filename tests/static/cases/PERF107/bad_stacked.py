"""Batches stacked sample by sample: in the loop, and in a function that it calls."""

import torch


def in_the_loop(model, criterion, optimizer, scaler, samples, answers):
    for _ in range(1000):
        picks = torch.randint(len(samples), (32,))
        images = torch.stack([samples[i] for i in picks])  # expect: PERF107 likely
        labels = answers[picks]
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def window(tokens, length):
    starts = torch.randint(len(tokens) - length, (32,))
    return torch.stack([torch.from_numpy(tokens[at : at + length]) for at in starts])  # expect: PERF107 likely


def in_a_function(model, criterion, optimizer, scaler, tokens):
    for _ in range(1000):
        images = labels = window(tokens, 64)
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
