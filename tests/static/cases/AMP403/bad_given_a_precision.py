"""Lightning runs these modules in float16."""

import lightning.pytorch as pl
import torch
from torch import nn


class Attention(pl.LightningModule):
    def __init__(self, size):
        super().__init__()
        self.query = nn.Linear(size, size)

    def training_step(self, batch, index):
        x, mask = batch
        scores = self.query(x) @ x.transpose(1, 2)
        scores = scores.masked_fill(mask, -1e9)  # expect: AMP403 likely
        return torch.softmax(scores, -1).sum()


class Inner(nn.Module):
    def forward(self, x, mask):
        return (x @ x.transpose(1, 2)).masked_fill(mask, -1e9)  # expect: AMP403 likely


def main(batches):
    trainer = pl.Trainer(precision="16-mixed")
    trainer.fit(Attention(8), batches)
