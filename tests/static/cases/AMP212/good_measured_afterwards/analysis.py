"""Gradients with respect to the inputs: no step uses what they leave in the weights."""

import torch


def measure(model, loader):
    found = []
    for x, _ in loader:
        x = torch.autograd.Variable(x, requires_grad=True)
        largest = model(x).mean()
        largest.backward(retain_graph=True)
        found.append(x.grad.abs().mean())
    return found
