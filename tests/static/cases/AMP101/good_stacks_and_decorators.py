"""What is behind the `with` of a stack, on another stack, an island there, or decorated by what enters nothing."""

import functools
from contextlib import ExitStack

import torch
import torch.nn.functional as F


def behind(model, optimizer, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with ExitStack() as stack:
            stack.enter_context(torch.autocast("cuda", dtype=torch.bfloat16))
            loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()


def of_another(model, optimizer, batches, contexts):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with ExitStack() as stack, ExitStack():
            stack.callback(print, "done")
            contexts.enter_context(torch.no_grad())
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
        optimizer.step()


def with_an_island(model, optimizer, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16), ExitStack() as stack:
            outputs = model(inputs)
            stack.enter_context(torch.autocast("cuda", enabled=False))
            F.cross_entropy(outputs.float(), targets).backward()
        optimizer.step()


def where_it_evaluates(function):
    @functools.wraps(function)
    def inside(*args, evaluates=False):
        if evaluates:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                return function(*args)
        return function(*args)

    return inside


def told(function):
    @functools.wraps(function)
    def inside(*args):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            print("begins")
        return function(*args)

    return inside


@told
@where_it_evaluates
def decorated(model, optimizer, inputs, targets):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
