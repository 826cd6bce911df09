"""BCE outside of any region, in an island, on logits, or for the CPU."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.cuda.amp import autocast


def outside(model, batch, target):
    with autocast():
        output = model(batch)
    return F.binary_cross_entropy(output.float(), target)


def island(model, batch, target):
    with autocast():
        output = model(batch)
        with autocast(enabled=False):
            return nn.BCELoss()(output.float(), target)


def logits(model, batch, target):
    with autocast():
        return F.binary_cross_entropy_with_logits(model(batch), target) + nn.BCEWithLogitsLoss()(batch, target)


def on_the_cpu(model, batch, target):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return F.binary_cross_entropy(model(batch), target)


class Criterion(nn.Module):
    def forward(self, output, target):
        return F.binary_cross_entropy(output.float(), target)


def criterion_outside(model, criterion, batch, target):
    with autocast():
        output = model(batch)
    return criterion(output, target)


class Loss(nn.Module):
    @autocast(enabled=False)
    def forward(self, output, target):
        return F.binary_cross_entropy(output.float(), target)


def own_island(model, batch, target):
    loss = Loss()
    with autocast():
        return loss(model(batch), target)
