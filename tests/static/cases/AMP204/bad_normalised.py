"""A size that another gradient is divided by, one that is logged as well, and one that a limit is compared with."""

import torch


class Attack:
    def __init__(self, model, rate):
        self.model = model
        self.rate = rate

    def disturb(self, log):
        for value, other in zip(self.model.a.parameters(), self.model.b.parameters()):
            size = torch.norm(value.grad)  # expect: AMP204
            other.data.add_(self.rate * other.grad / size)
            length = value.grad.norm()  # expect: AMP204
            value.data.add_(self.rate * value.grad / length)
            log.append(length)
            limit = other.grad.norm()  # expect: AMP204
            if limit > 10:
                other.data.add_(self.rate * other.grad / limit)


def train(model, loader, loss_fn, optimizer, log):
    scaler = torch.amp.GradScaler("cuda")
    attack = Attack(model, 0.1)
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        attack.disturb(log)
        scaler.step(optimizer)
        scaler.update()
