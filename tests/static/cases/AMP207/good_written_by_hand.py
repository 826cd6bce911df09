"""Gradients that a hand has written have no scale: the optimizer steps on them by itself."""

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
                weight.grad = before - weight.data
                weight.data = before
            outer.step()
            outer.zero_grad()
            kept = [weight.detach().clone() for weight in model.parameters()]


def balanced(model, loss_fn, batches):
    """The weights of two losses have a gradient of their own."""
    weights = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.Adam(model.parameters())
    balancing = torch.optim.Adam([weights])
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            losses = torch.stack([loss_fn(model(inputs), targets), loss_fn(model(-inputs), targets)])
        (direction,) = torch.autograd.grad((weights * losses.detach()).var(), weights)
        optimizer.zero_grad()
        scaler.scale((weights.detach() * losses).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        weights.grad = direction
        balancing.step()
