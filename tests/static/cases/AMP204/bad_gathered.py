"""Gradients that are put into a list before they are measured."""

import torch
from torch.amp import GradScaler


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = GradScaler()

    def run(self, batches, window):
        for batch in batches:
            for part in batch.chunk(window):
                loss = self.model(part) / window
                self.scaler.scale(loss).backward()
                self.measure()
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()

    def measure(self):
        gradients = []
        for param in self.model.parameters():
            if param.grad is not None:
                gradients.append(param.grad.view(-1))
        everything = torch.cat(gradients)
        self.spread = torch.std(everything).item()  # expect: AMP204
        self.norm = everything.norm().item()  # expect: AMP204


def in_one_expression(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        grads = [p.grad.flatten() for p in model.parameters()]
        print(torch.linalg.vector_norm(torch.cat(grads)))  # expect: AMP204
        scaler.step(optimizer)
        scaler.update()


def measured_where_they_are_joined(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        grads = [p.grad.flatten() for p in model.parameters()]
        print(torch.cat(grads).norm())  # expect: AMP204
        scaler.step(optimizer)
        scaler.update()
