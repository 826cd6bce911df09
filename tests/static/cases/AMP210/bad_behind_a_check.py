"""A hand-written check for inf leads past the step to an update, which has no inf check to go by: it raises."""

import torch


def by_a_flag(model, optimizer, loader, loss_fn):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        overflow = False
        for weight in model.parameters():
            if not weight.grad.isfinite().all():
                overflow = True
                break
        if overflow:
            scaler.update()  # expect: AMP210
            optimizer.zero_grad(set_to_none=True)
        else:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def is_finite(self):
        if any(not each.grad.isfinite().all() for each in self.model.parameters()):
            self.scaler.update()  # expect: AMP210
            self.optimizer.zero_grad(set_to_none=True)
            return False
        return True

    def train(self, loader, loss_fn):
        for inputs, targets in loader:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = loss_fn(self.model(inputs), targets)
            self.scaler.scale(loss).backward()
            if self.is_finite():
                self.scaler.step(self.optimizer)
                self.scaler.update()
                self.optimizer.zero_grad(set_to_none=True)
