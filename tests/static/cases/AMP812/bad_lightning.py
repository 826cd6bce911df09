"""Layers that Lightning leaves out of float8, or converts although they raise."""

import lightning.pytorch as pl
import torch
from lightning.fabric import Fabric
from torch import nn


class Net(pl.LightningModule):
    def __init__(self, classes):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64))  # expect: AMP812 certain
        self.head = nn.Linear(64, 10)  # expect: AMP812 certain

    def training_step(self, batch, number):
        return self.head(self.net(batch)).sum()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


def main(loader):
    trainer = pl.Trainer(max_epochs=1, precision="transformer-engine")
    trainer.fit(Net(10), loader)


def with_fabric():
    fabric = Fabric(precision="transformer-engine-float16")
    return fabric.setup(nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 3)))  # expect: AMP812 certain
