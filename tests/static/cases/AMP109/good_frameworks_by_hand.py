"""The backward runs in the region that Lightning has opened around the whole step, and what it runs again as well."""

import lightning as L
import torch
from torch import nn


class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x):
        ctx.run = run
        ctx.save_for_backward(x)
        with torch.no_grad():
            return run(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = ctx.run(x)
        torch.autograd.backward(y, grad)
        return None, x.grad


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.block = nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(Recompute.apply(self.block, batch).mean())
        optimizer.step()


def main(loader):
    L.Trainer(precision="bf16-mixed").fit(Net(), loader)
