"""Contexts on a stack stay open to the end of its `with`; a decorator of the project may enter one, too."""

import functools
from contextlib import ExitStack

import torch
import torch.nn.functional as F


def on_a_stack(model, optimizer, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with ExitStack() as stack:
            stack.enter_context(torch.autocast("cuda", dtype=torch.bfloat16))
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()  # expect: AMP101
        optimizer.step()


def where_asked_for(model, optimizer, batches, amp):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with ExitStack() as stack:
            if amp:
                region = stack.enter_context(torch.autocast("cuda", dtype=torch.bfloat16))
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()  # expect: AMP101
        optimizer.step()
    return region


def in_bfloat16(function):
    @functools.wraps(function)
    def inside(*args, **options):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return function(*args, **options)

    return inside


@in_bfloat16
def decorated(model, optimizer, inputs, targets):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(inputs), targets)
    loss.backward()  # expect: AMP101
    optimizer.step()
