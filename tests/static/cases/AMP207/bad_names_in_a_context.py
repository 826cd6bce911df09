"""A context manager that steps what is named, after the scaler has scaled its loss and stepped it."""

import contextlib

import torch


class Manager:
    def __init__(self, optimizers):
        self._optimizers = optimizers

    @contextlib.contextmanager
    def run_iteration(self, step_optimizers=None):
        names = []
        if step_optimizers is not None:
            names = step_optimizers
        yield
        for name in names:
            self._optimizers[name].step()  # expect: AMP207 likely


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.manager = Manager({"main": optimizer})
        self.scaler = torch.amp.GradScaler("cuda")

    def run(self, loader, names):
        for x, y in loader:
            with self.manager.run_iteration(names):
                self.optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = torch.nn.functional.mse_loss(self.model(x), y)
                self.scaler.scale(loss).backward()
                self.scaler.step(self.optimizer)
                self.scaler.update()


def main(model, loader, names):
    Trainer(model, torch.optim.SGD(model.parameters(), 0.1)).run(loader, names)
