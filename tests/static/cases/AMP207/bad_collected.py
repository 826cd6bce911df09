"""Losses that are scaled under a name, and gathered by that name."""

import torch


def train(model, heads, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        losses = []
        for head in heads:
            with torch.autocast("cuda"):
                loss = head(model(batch)).mean()
            loss = scaler.scale(loss)
            losses.append(loss)
        for each in losses:
            each.backward(retain_graph=True)
        optimizer.step()  # expect: AMP207
        scaler.update()
