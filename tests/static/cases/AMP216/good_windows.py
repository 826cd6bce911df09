"""Losses that are divided, or not added up."""

import torch


def divided(model, optimizer, scaler, batches, args):
    for i, batch in enumerate(batches):
        with torch.autocast("cuda"):
            loss = model(batch)
            loss = loss / args.accumulate
        scaler.scale(loss).backward()
        if (i + 1) % args.accumulate == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def divided_in_the_call(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        scaler.scale(model(batch) / window).backward()
        if (i + 1) % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def divided_in_the_gradients(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        scaler.scale(model(batch)).backward()
        if (i + 1) % window == 0:
            for p in model.parameters():
                p.grad /= window
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def trained_every_few_turns(model, optimizer, scaler, batches, every):
    for i, batch in enumerate(batches):
        model.observe(batch)
        if i % every == 0:
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()
