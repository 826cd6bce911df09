"""Losses after the region, on what the model returned in it."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.cuda.amp import autocast


def plain(model, criterion, optimizer, scaler, batches):
    for inputs, targets in batches:
        with autocast():
            outputs = model(inputs)
        loss = criterion(outputs, targets)  # expect: AMP110 likely
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def one_arm_and_parts(net, optimizer, scaler, batches, amp):
    measure = nn.CrossEntropyLoss()
    for inputs, targets in batches:
        if amp:
            with torch.autocast("cuda", dtype=torch.float16):
                predicted = net(inputs)
        else:
            predicted = net(inputs)
        mean, spread = predicted
        loss = measure(mean, targets)  # expect: AMP110 likely
        loss = loss + F.nll_loss(spread, targets)  # expect: AMP110 likely
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@torch.no_grad()
def evaluation(model, loss_fn, loader, amp):
    total = 0.0
    for inputs, targets in loader:
        with torch.autocast("cuda", enabled=amp):
            outputs = model(inputs)
        total += loss_fn(outputs["logits"], targets).item()  # expect: AMP110 likely
    return total


class PairLoss(nn.Module):
    """What it casts is the outcome of a comparison: no output."""

    def forward(self, texts, images, labels):
        same = torch.eq(labels.unsqueeze(1), labels.unsqueeze(0)).float().to(texts.device)
        scores = torch.exp(texts @ images.T)
        return -(same * torch.log(scores / scores.sum(1, keepdim=True))).mean()


def by_its_class(model, optimizer, scaler, batches):
    pairs = PairLoss()
    for texts, images, labels in batches:
        with autocast():
            encoded = model(texts)
        loss = pairs(encoded, images, labels)  # expect: AMP110 likely
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
