"""Epsilons that are zero in float16."""

import torch
from torch import nn
from torch.cuda.amp import autocast

EPS = 1e-12


def logarithm(model, x):
    project = nn.Linear(8, 8)
    with autocast():
        chances = project(x).sigmoid()
        return torch.log(chances + 1e-8)  # expect: AMP402


def division(q, k):
    with torch.autocast("cuda", dtype=torch.float16):
        scores = torch.matmul(q, k)
        return q / (scores + EPS)  # expect: AMP402


def clamped(q, k):
    with torch.autocast("cuda", dtype=torch.float16):
        return torch.matmul(q, k).relu().clamp(min=1e-10).log()  # expect: AMP402


class Matcher(nn.Module):
    def forward(self, outputs):
        chances = outputs["logits"].flatten(0, 1).sigmoid()
        return -(chances + 1e-8).log()  # expect: AMP402 likely


def match(matcher, outputs, x):
    matcher = Matcher()
    with autocast():
        return matcher(outputs)
