import lightning as L
import torch
from accelerate import Accelerator
from torch import nn


class Recompute(torch.autograd.Function):  # expect: AMP109 likely
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
        self.block = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        self.head = nn.Linear(8, 1)

    def training_step(self, batch, batch_idx):
        return self.head(Recompute.apply(self.block, batch)).mean()


def main(loader):
    L.Trainer(precision="bf16-mixed").fit(Net(), loader)


class Mixes(torch.autograd.Function):  # expect: AMP109 likely
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight.t(), x.t() @ grad


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 8))

    def forward(self, x):
        return Mixes.apply(x, self.weight)


def prepared(batches):
    accelerator = Accelerator(mixed_precision="fp16")
    net = Layer()
    model, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for x in batches:
        accelerator.backward(model(x).mean())
        optimizer.step()
        optimizer.zero_grad()
