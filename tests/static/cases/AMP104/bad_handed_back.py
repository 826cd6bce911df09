"""An optimizer that a function hands back, whichever way it takes, is the same one."""

import torch


def tuned(model, optimizer, compiled=False):
    if compiled:
        return torch.compile(model), optimizer
    return model, optimizer


def two_steps(model, inputs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, same = tuned(model, optimizer)
    for each in inputs:
        with torch.autocast("cpu", dtype=torch.bfloat16):  # expect: AMP104
            optimizer.zero_grad()
            model(each).sum().backward()
            optimizer.step()
            same.zero_grad()
            model(each).sum().backward()
            same.step()
