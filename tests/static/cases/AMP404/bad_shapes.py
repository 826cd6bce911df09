"""BCE on probabilities, covered by a region in one way or another."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.cuda.amp import autocast


def written_inside(model, batch, target):
    with autocast():
        return F.binary_cross_entropy(model(batch).sigmoid(), target)  # expect: AMP404


class Trainer:
    def __init__(self, model):
        self.model = model
        self.criterion = nn.BCELoss()

    def step(self, batch, target, flag):
        with torch.autocast("cuda", enabled=flag):
            output = self.model(batch)
            return self.criterion(output, target)  # expect: AMP404


def loss_of(output, target):
    return F.binary_cross_entropy(output.float(), target)  # expect: AMP404


def called_inside(model, batch, target):
    with autocast(dtype=torch.bfloat16):
        return loss_of(model(batch), target)


@autocast()
def decorated(model, batch, target):
    return nn.BCELoss()(model(batch), target)  # expect: AMP404


def by_a_variable(model, batch, target, device):
    with torch.autocast(device_type=device):
        return F.binary_cross_entropy(model(batch), target)  # expect: AMP404 likely


def moved_to_the_device(model, batch, target, device):
    criterion = nn.BCELoss().to(device)
    judge = Judge().to(device).train()
    with autocast():
        return criterion(model(batch), target) + judge(model(batch), target)  # expect: AMP404


class Judge(nn.Module):
    def forward(self, output, target):
        return F.binary_cross_entropy(output, target)  # expect: AMP404


def in_half(method):
    def wrapped(*given):
        with autocast():
            return method(*given)

    return wrapped


@in_half
def by_a_decorator_of_the_project(model, batch, target):
    return F.binary_cross_entropy(model(batch), target)  # expect: AMP404
