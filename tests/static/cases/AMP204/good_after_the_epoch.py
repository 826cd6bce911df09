"""Histograms once an epoch: the last turn stepped and zeroed, whatever may hold in another turn."""

import torch


def record(model, writer, epoch):
    for name, p in model.named_parameters():
        if p.grad is not None:
            writer.add_histogram(name, p.grad, epoch)


def turn(model, optimizer, scaler, batch, steps_now):
    scaler.scale(model(batch)).backward()
    if steps_now:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)


def train(model, optimizer, batches, writer, window):
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(10):
        for number, batch in enumerate(batches):
            steps_now = True
            if (number + 1) % window != 0 and number + 1 != len(batches):
                steps_now = False
            turn(model, optimizer, scaler, batch, steps_now)
        record(model, writer, epoch)
