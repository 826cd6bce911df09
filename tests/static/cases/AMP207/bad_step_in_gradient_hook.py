"""Optimizers that step in hooks of the backward, where the gradients are scaled."""

import torch


def train_by_element(model, loader):
    scaler = torch.amp.GradScaler("cuda")
    optimizers = {p: torch.optim.AdamW([p], lr=1e-3) for p in model.parameters()}

    def step_at_once(parameter):
        optimizers[parameter].step()  # expect: AMP207
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(step_at_once)
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(loss).backward()


def train_fused_or_not(model, loader, fused):
    scaler = torch.amp.GradScaler("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if fused:
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(lambda _: optimizer.step())  # expect: AMP207
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(loss).backward()
        if not fused:
            scaler.step(optimizer)
            scaler.update()
        optimizer.zero_grad()


class Trainer:
    def __init__(self, model):
        self.model = model
        self.scaler = torch.amp.GradScaler("cuda")
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.install()

    def install(self):
        for parameter in self.model.parameters():
            parameter.register_post_accumulate_grad_hook(self.step_at_once)

    def step_at_once(self, _parameter):
        self.optimizer.step()  # expect: AMP207
        self.optimizer.zero_grad()

    def fit(self, loader):
        for inputs, targets in loader:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(self.model(inputs), targets)
            self.scaler.scale(loss).backward()


def main(model, loader):
    Trainer(model).fit(loader)
