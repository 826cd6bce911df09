import lightning as L
import torch
from accelerate import Accelerator
from torch import nn


class Net(L.LightningModule):
    def __init__(self, rest=None):
        super().__init__()
        self.net = nn.Linear(8, 8)
        self.head = nn.Linear(8, 1)
        self.half = rest


class Same(Net):
    def training_step(self, batch, batch_idx):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return self.net(batch).mean()


class Inherits(Net):
    def training_step(self, batch, batch_idx):
        with torch.autocast("cuda"):
            return self.net(batch).mean()


class Island(Net):
    """What overflows in float16 is computed in bfloat16."""

    def training_step(self, batch, batch_idx):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            hidden = self.net(batch)
        return self.head(hidden).mean()


class Float32(Net):
    def training_step(self, batch, batch_idx):
        with torch.autocast("cuda", dtype=torch.float16, enabled=False):
            return self.net(batch.float()).mean()


class Evaluates(Net):
    def training_step(self, batch, batch_idx):
        return self.net(batch).mean()

    @torch.no_grad()
    def sample(self, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            return self.net(batch)


class Chosen(Net):
    def training_step(self, batch, batch_idx):
        with torch.autocast("cuda", dtype=self.half):
            return self.net(batch).mean()


def main(loader, precision, half):
    for net in (Same(), Inherits(), Evaluates(), Chosen(half)):
        L.Trainer(precision="bf16-mixed").fit(net, loader)
    for net in (Island(), Float32()):
        L.Trainer(precision="16-mixed").fit(net, loader)


class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 1)

    def forward(self, inputs):
        with torch.autocast("cuda", dtype=torch.float16):
            return self.net(inputs)


def scaled_by_the_framework(batches, precision):
    accelerator = Accelerator(mixed_precision=precision)
    net = Half()
    model, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for batch in batches:
        accelerator.backward(model(batch).mean())
        optimizer.step()


def around_what_has_its_own(net, loss_fn, batches):
    accelerator = Accelerator(mixed_precision="fp16")
    model, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_fn(model(inputs), targets)
        accelerator.backward(loss)
        optimizer.step()
