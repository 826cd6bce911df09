"""Steps that the loop of a library runs: nothing here calls them."""

import unittest

import torch
from some_library.train import Trainer
from torch.amp import GradScaler, autocast


class SegmentationTrainer(Trainer):
    def __init__(self, model, criterion, optimizer):
        self.model = model
        self.criterion = criterion
        self.optimizer = optimizer
        self.scaler = GradScaler("cuda")

    def _run_step(self, feed):
        with autocast("cuda"):
            outputs = self.model(feed["inputs"].cuda())
            if outputs.requires_grad:
                loss = self.criterion(outputs, feed["targets"].cuda())
        if outputs.requires_grad:
            self.summary.add_scalar("loss", loss.item())  # expect: PERF101 likely
            self.optimizer.zero_grad()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        return {"outputs": outputs}

    def _trigger(self, loss):
        self.summary.add_scalar("of the epoch", loss.item())


class TestStep(unittest.TestCase):
    def test_step(self):
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters())
        scaler = GradScaler("cuda")
        loss = model(torch.ones(2)).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() > 0
        print(loss.item())
