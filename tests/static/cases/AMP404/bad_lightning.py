import lightning as L
import torch
from torch import nn


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.error = nn.BCELoss()

    def training_step(self, batch, index):
        x, y = batch
        return self.error(torch.sigmoid(self(x)), y)  # expect: AMP404 likely

    def validation_step(self, batch, index):
        x, y = batch
        self.log("loss", nn.functional.binary_cross_entropy(torch.sigmoid(self(x)), y))  # expect: AMP404 likely


def main(data):
    L.Trainer(precision=16).fit(Net(), data)
