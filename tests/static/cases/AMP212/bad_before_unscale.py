"""Gradients zeroed ahead of what is to use them: before `unscale_`, or for each micro-batch of an inner loop."""

import torch


def before_unscale(model, optimizer, loss_fn, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        model.zero_grad()  # expect: AMP212
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def in_the_loop_of_micro_batches(model, optimizer, loss_fn, batches, pieces, steps):
    scaler = torch.amp.GradScaler("cuda")
    source = iter(batches)
    for _ in range(steps):
        for _ in range(pieces):
            inputs, targets = next(source)
            optimizer.zero_grad()  # expect: AMP212 likely
            with torch.autocast("cuda", dtype=torch.float16):
                loss = loss_fn(model(inputs), targets) / pieces
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def in_a_comprehension(model, optimizer, loss_fn, batches):
    scaler = torch.amp.GradScaler("cuda")

    def step(inputs, targets):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()  # expect: AMP212
        scaler.step(optimizer)
        scaler.update()
        return loss.item()

    return [step(inputs, targets) for inputs, targets in batches]
