"""Reads in helpers and methods that every step runs, in each of two loops, and of what is compared."""

import torch
from torch.amp import GradScaler, autocast


def norms(model):
    found = []
    for _, parameter in model.named_parameters():
        if parameter.grad is not None:
            found.append(parameter.grad.norm(2).item())  # expect: PERF101 likely
    return found


class Trainer:
    def __init__(self, model, loss_fn, optimizer):
        self.model, self.loss_fn, self.optimizer = model, loss_fn, optimizer
        self.scaler = GradScaler()

    def run(self, loader):
        losses = []
        for batch in loader:
            losses.append(self.turn(batch))
            norms(self.model)
        return losses

    def turn(self, batch):
        self.optimizer.zero_grad()
        with autocast("cuda"):
            loss = self.loss_fn(self.model(batch))
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach().cpu().numpy()  # expect: PERF101 likely


def twice(model, loss_fn, optimizer, scaler, first_loader, second_loader, bar):
    for batch in first_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(batch))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        bar.set_description(f"{loss.item()}")  # expect: PERF101
    for batch in second_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(batch))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        bar.set_description(f"{loss.item()}")  # expect: PERF101


def right_ones(model, loss_fn, optimizer, scaler, loader):
    right = 0.0
    for batch, labels in loader:
        optimizer.zero_grad()
        outputs = model(batch)
        scaler.scale(loss_fn(outputs, labels)).backward()
        scaler.step(optimizer)
        scaler.update()
        right += float(outputs.topk(5, dim=1).indices.eq(labels.unsqueeze(1)).sum())  # expect: PERF101
    return right


def clip(parameters, norms):
    norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    norms.append(float(norm))  # expect: PERF101 likely


def clips(model, criterion, optimizer, loader, norms):
    for images, labels in loader:
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        clip(model.parameters(), norms)
        optimizer.step()


def takes_a_step(model, criterion, optimizer, images, labels):
    loss = criterion(model(images), labels)
    loss.backward()
    optimizer.step()
    return float(loss)  # expect: PERF101 likely


def takes_steps(model, criterion, optimizer, loader, losses):
    for images, labels in loader:
        losses.append(takes_a_step(model, criterion, optimizer, images, labels))
