"""Clips that come too late."""

import torch


def after_step_and_update(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP211


def between_step_and_update(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        for p in model.parameters():
            p.grad.clamp_(-1, 1)  # expect: AMP211
        scaler.update()


class Trainer:
    def __init__(self, model):
        self.net = model
        self.solver = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def regularise(self):
        torch.nn.utils.clip_grad_value_(self.net.parameters(), 0.5)  # expect: AMP211

    def step(self, loss):
        self.solver.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.solver)
        self.regularise()
        self.scaler.update()
