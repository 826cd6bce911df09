"""Which method is the forward is decided when the module is built."""

import torch
from torch import nn


class MarginLoss(nn.Module):
    def __init__(self, encoder, in_parts):
        super().__init__()
        self.encoder = encoder
        self.forward = self.by_parts if in_parts else self.at_once

    def by_parts(self, batches):
        for batch in batches[:-1]:
            loss = self.encoder(batch).square().mean()
            loss.backward()  # expect: AMP101 likely
        return self.encoder(batches[-1]).square().mean()

    def at_once(self, batches):
        return self.encoder(torch.cat(batches)).square().mean()

    def told(self, batches):
        loss = self.at_once(batches)
        loss.backward()
        return loss.item()


def fit(loss_model, batches, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss_value = loss_model(batch)
        scaler.scale(loss_value).backward()
        scaler.step(optimizer)
        scaler.update()
