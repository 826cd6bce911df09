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


class FocalCost(nn.Module):
    """One name for the logits and for what is made of them."""

    def __init__(self, focal):
        super().__init__()
        self.focal = focal

    def forward(self, scores, classes):
        scores = scores.detach().view(-1, 80)
        scores = torch.sigmoid(scores) if self.focal else torch.softmax(scores, dim=-1)
        scores = scores[:, classes]
        return -(1 - scores + 1e-8).log()  # expect: AMP402 likely


def cost(scores, classes):
    judge = FocalCost(True)
    with autocast():
        return judge(scores, classes)


def log(t, eps=1e-10):
    return torch.log(t + eps)  # expect: AMP402 likely


def discriminator_loss(fake, real):
    return (-log(1 - torch.sigmoid(fake)) - log(torch.sigmoid(real))).mean()


def through_a_helper(critic, fake, real):
    with autocast():
        return discriminator_loss(critic(fake), critic(real))


def focal_loss(chances, target):
    """The upper bound is 1 in half: one minus it is zero."""
    chances = chances.permute(0, 2, 3, 1)
    chances = torch.clamp(chances, 1e-4, 1 - 1e-4)  # expect: AMP402 likely
    return -(torch.log(chances) * target + torch.log(1 - chances) * (1 - target)).mean()


def heatmap(head, x, target):
    with autocast():
        chances, width = head(x)["heat"].sigmoid(), head(x)["width"]
        return focal_loss(chances, target) + width.mean()


def odds(x, w, eps=1e-5):
    with torch.autocast("cuda", dtype=torch.float16):
        chances = torch.sigmoid(x @ w).clamp(min=eps, max=1 - eps)  # expect: AMP402
        return torch.log(chances / (1 - chances)), torch.log(torch.clamp(x @ w, min=1e-9))  # expect: AMP402


def bounded_sigmoid(x):
    return torch.clamp(x.sigmoid(), min=1e-4, max=1 - 1e-4)  # expect: AMP402 likely


def handed_to_a_loss(loss_fn, head, x, target):
    with autocast():
        return loss_fn(bounded_sigmoid(head(x)), target)
