"""A gradient divided by its own size has no scale, so neither has the step against it: FGM, AWP."""

import torch


class Attack:
    def __init__(self, model, rate):
        self.model = model
        self.rate = rate

    def disturb(self):
        for value in self.model.parameters():
            if value.grad is not None:
                size = torch.norm(value.grad)
                if size != 0 and not torch.isnan(size):
                    value.data.add_(self.rate * value.grad / (size + 1e-6) * value.detach().norm())

    def nudge(self):
        for value in self.model.parameters():
            length = value.grad.norm()
            value.data.add_(value.grad.div(2) + value.grad / length)


def train(model, loader, loss_fn, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    attack = Attack(model, 0.1)
    for inputs, targets in loader:
        for disturb in (attack.disturb, attack.nudge):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = loss_fn(model(inputs), targets)
            scaler.scale(loss).backward()
        attack.disturb()
        attack.nudge()
        scaler.step(optimizer)
        scaler.update()
