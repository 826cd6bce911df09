"""Sizes that fit; another precision; a model that has layers of Transformer Engine already."""

import lightning.pytorch as pl
import transformer_engine.pytorch as te
from torch import nn


class Fits(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16))


class Own(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(te.Linear(32, 64), nn.ReLU())
        self.head = nn.Linear(64, 10)


class Half(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(64, 10)


def main(loader):
    engine = pl.Trainer(max_epochs=1, precision="transformer-engine")
    engine.fit(Fits(), loader)
    pl.Trainer(precision="transformer-engine").fit(Own(), loader)
    pl.Trainer(precision="bf16-mixed").fit(Half(), loader)
