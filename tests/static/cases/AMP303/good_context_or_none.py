"""Where the setting turns the scaler off, what is entered is no region at all."""

from contextlib import ExitStack, nullcontext

import torch


class Trainer:
    def __init__(self, model, precision):
        use = precision == "fp16"
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), 0.1)
        self.context = torch.autocast("cuda", dtype=torch.float16) if use else nullcontext()
        self.scaler = torch.amp.GradScaler("cuda", enabled=use)

    def step(self, inputs, targets):
        with self.context:
            loss = torch.nn.functional.cross_entropy(self.model(inputs), targets)
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


def fit(model, batches, amp):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cuda", enabled=amp)
    for inputs, targets in batches:
        optimizer.zero_grad()
        with ExitStack() as stack:
            if amp:
                stack.enter_context(torch.autocast("cuda", dtype=torch.float16))
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
