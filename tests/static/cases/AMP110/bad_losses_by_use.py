"""What is scaled is a loss, whatever the function that makes it is called."""

import torch
from torch import nn


def overlap(outputs, targets):
    both = (outputs.sigmoid() * targets).sum()
    return 1 - 2 * both / (outputs.sigmoid().sum() + targets.sum())


class Margin(nn.Module):
    def forward(self, scores, targets):
        right = scores.gather(1, targets[:, None])
        return (scores - right + 1).clamp(min=0).sum(1).mean()


def segment(model, optimizer, scaler, batches):
    for images, masks in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            outputs = model(images)
        objective = overlap(outputs, masks)  # expect: AMP110 likely
        scaler.scale(objective).backward()
        scaler.step(optimizer)
        scaler.update()


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.margin = Margin()
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, images, targets):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            scores = self.model(images)
        self.scaler.scale(self.margin(scores, targets)).backward()  # expect: AMP110 likely
        self.scaler.step(self.optimizer)
        self.scaler.update()


def heads_by_name(trunk, heads, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            classes = heads["classes"](trunk(batch["image"]))
        loss = nn.functional.cross_entropy(classes, batch["label"])  # expect: AMP110 likely
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
