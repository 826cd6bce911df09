"""Losses on outputs that a bfloat16 region leaves in bfloat16: no range is lost, but digits are."""

import torch
from torch import nn


def in_one_function(model, criterion, batches):
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            outputs = model(inputs)
        criterion(outputs, targets).backward()  # expect: AMP110 likely


class InBfloat(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(6, 3)

    @torch.autocast("cuda", dtype=torch.bfloat16)
    def forward(self, values):
        return self.last(values)


def over_functions(batches, optimizer):
    model = InBfloat()
    for values, labels in batches:
        scores = model(values)
        loss = nn.functional.cross_entropy(scores, labels)  # expect: AMP110 likely
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
