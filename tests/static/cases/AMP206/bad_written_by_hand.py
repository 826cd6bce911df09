"""Gradients that a hand has written have no scale, and the scaler divides them all the same."""

import torch


def outer_steps(model, loss_fn, batches, every):
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    outer = torch.optim.SGD(model.parameters(), lr=0.7)
    scaler = torch.amp.GradScaler("cuda")
    kept = [weight.detach().clone() for weight in model.parameters()]
    for number, (inputs, targets) in enumerate(batches, 1):
        inner.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(inner)
        scaler.update()
        if number % every == 0:
            for before, weight in zip(kept, model.parameters()):
                weight.grad = before - weight.data  # expect: AMP206
                weight.data = before
            scaler.step(outer)
            scaler.update()
            outer.zero_grad()
            kept = [weight.detach().clone() for weight in model.parameters()]
