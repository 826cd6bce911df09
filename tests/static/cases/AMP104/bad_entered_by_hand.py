"""One region over all steps, entered without `with`."""

import torch
from contextlib import ExitStack
from torch import nn


def with_a_stack(model, opt, scaler, loader):
    stack = ExitStack()
    stack.enter_context(torch.autocast("cuda", dtype=torch.float16))  # expect: AMP104
    for x in loader:
        opt.zero_grad()
        loss = model(x).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
    stack.close()


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")
        self.context = torch.autocast("cuda", dtype=torch.float16)

    def begin(self):
        self.context.__enter__()  # expect: AMP104

    def end(self):
        self.context.__exit__(None, None, None)

    def fit(self, loader):
        self.begin()
        for x in loader:
            self.opt.zero_grad()
            loss = self.model(x).mean()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.opt)
            self.scaler.update()
        self.end()


def guarded(model, opt, scaler, loader):
    context = torch.autocast("cuda", dtype=torch.float16)
    context.__enter__()  # expect: AMP104
    try:
        for x in loader:
            opt.zero_grad()
            loss = model(x).mean()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
    finally:
        context.__exit__(None, None, None)


def leaks(model, opt, scaler, loader):
    torch.autocast("cuda", dtype=torch.float16).__enter__()  # expect: AMP104
    for x in loader:
        opt.zero_grad()
        loss = model(x).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


def outer(model, opt, scaler, loader):
    with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP104
        for x in loader:
            opt.zero_grad()
            loss = model(x).mean()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
