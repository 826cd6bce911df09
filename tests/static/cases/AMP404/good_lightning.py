import lightning as L
import torch
from torch import nn


class Net(L.LightningModule):
    def training_step(self, batch, index):
        x, y = batch
        return nn.functional.binary_cross_entropy_with_logits(self(x), y)

    def validation_step(self, batch, index):
        x, y = batch
        with torch.autocast("cuda", enabled=False):
            return nn.functional.binary_cross_entropy(torch.sigmoid(self(x).float()), y)


class Full(L.LightningModule):
    def training_step(self, batch, index):
        x, y = batch
        return nn.BCELoss()(torch.sigmoid(self(x)), y)


def main(data):
    L.Trainer(precision="16-mixed").fit(Net(), data)
    L.Trainer(precision="32-true").fit(Full(), data)
