"""Muon for the matrices, AdamW for the rest, one scaler in float16: both are unscaled before the norm they share."""

from __future__ import annotations

import torch
from torch import nn

from reference_impl.gallery import tasks


def train(steps: int) -> float:
    """Predict characters with two optimizers; returns the held-out accuracy."""
    torch.manual_seed(0)
    device = tasks.device()
    data, held_out = tasks.text(device)
    model = tasks.CharGPT().to(device)
    matrices = [weight for weight in model.blocks.parameters() if weight.ndim == 2]
    known = {id(weight) for weight in matrices}
    rest = [weight for weight in model.parameters() if id(weight) not in known]  # embeddings, head, norms, biases
    muon = torch.optim.Muon(matrices, lr=0.01)
    adamw = torch.optim.AdamW(rest, lr=3e-3)
    scaler = torch.amp.GradScaler(device.type)
    region = torch.autocast(device.type, dtype=torch.float16)

    for tokens, targets in tasks.batches(data, 16, steps):
        with region:
            loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        scaler.scale(loss).backward()
        scaler.unscale_(muon)
        scaler.unscale_(adamw)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # one norm over both: Muon itself forgets the size
        if norm.isfinite():  # else a NaN of one is in the other by now, which was looked at before and would step
            scaler.step(muon)
            scaler.step(adamw)
        scaler.update()
        model.zero_grad()

    return tasks.accuracy(model, held_out, region)


if __name__ == "__main__":
    tasks.main(train, steps=200)
