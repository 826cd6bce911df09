"""A region of another library's, which keeps no casts; a copy of an optimizer, stepped beside the first."""

import copy

import torch
from eight_bits import fp8_autocast


class Casts:
    """What the project has for such a region."""


def in_eight_bits(model, inputs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with fp8_autocast(enabled=True):
        for each in inputs:
            optimizer.zero_grad()
            model(each).mean().backward()
            optimizer.step()


def tuned(model, optimizer, inplace=False):
    if isinstance(model, torch.jit.ScriptModule):
        return model, optimizer
    tuned_model, tuned_optimizer = copy.deepcopy((model, optimizer))
    return tuned_model, tuned_optimizer


def side_by_side(model, inputs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    other, other_optimizer = tuned(model, optimizer)
    for each in inputs:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            optimizer.zero_grad()
            model(each).sum().backward()
            optimizer.step()
            other_optimizer.zero_grad()
            other(each).sum().backward()
            other_optimizer.step()
