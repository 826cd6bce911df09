"""Lightning runs these modules in bfloat16, apex leaves them alone."""

import lightning.pytorch as pl
from apex import amp
from torch import nn


class Inner(nn.Module):
    def forward(self, x, mask):
        return (x @ x.transpose(1, 2)).masked_fill(mask, -1e9)


def main(batches, model, optimizer):
    model, optimizer = amp.initialize(model, optimizer, opt_level="O0")
    pl.Trainer(precision="bf16-mixed").fit(model, batches)
    pl.Trainer(precision=32).fit(model, batches)
