"""Gradients gathered after they were unscaled, what `autograd.grad` gives, and a name that holds weights later."""

import torch


def unscaled_before(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        grads = [p.grad.flatten() for p in model.parameters()]
        print(torch.cat(grads).norm())
        scaler.step(optimizer)
        scaler.update()


def by_autograd(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        grads = []
        for parameter in model.parameters():
            grads.append(torch.autograd.grad(loss, parameter, retain_graph=True))
        scaler.scale(loss).backward()
        print(torch.stack(grads).norm())
        scaler.step(optimizer)
        scaler.update()


def weights_under_the_same_name(model, optimizer, scaler, batches, watch):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        tensors = [p.grad for p in model.parameters()]
        watch(tensors)
        tensors = [p for p in model.parameters()]
        print(torch.norm(torch.cat(tensors)), torch.cat(tensors).norm())
        scaler.step(optimizer)
        scaler.update()
