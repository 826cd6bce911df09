"""Regions entered without `with` that end before the weights change."""

import torch
from contextlib import ExitStack
from torch import nn


def each_time(model, opt, scaler, loader):
    context = torch.autocast("cuda", dtype=torch.float16)
    for x in loader:
        opt.zero_grad()
        context.__enter__()
        loss = model(x).mean()
        context.__exit__(None, None, None)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


def forward(model, x):
    context = torch.autocast("cuda", dtype=torch.float16)
    context.__enter__()
    try:
        return model(x).mean()
    finally:
        context.__exit__(None, None, None)


def below(model, opt, scaler, loader):
    for x in loader:
        opt.zero_grad()
        loss = forward(model, x)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


def later(model, opt, scaler, loader):
    stack = ExitStack()
    stack.enter_context(torch.autocast("cuda", dtype=torch.float16))
    with stack:
        sample = model(next(iter(loader)))
    for x in loader:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
    return sample


class Region:
    def __init__(self):
        self.context = torch.autocast("cuda", dtype=torch.float16)

    def __enter__(self):
        self.context.__enter__()

    def __exit__(self, *given):
        self.context.__exit__(*given)


def by_class(model, opt, scaler, loader):
    for x in loader:
        opt.zero_grad()
        with Region():
            loss = model(x).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
