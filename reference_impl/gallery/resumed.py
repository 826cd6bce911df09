"""A checkpoint of float16 training: the scaler belongs into it, as weights and optimizer do.

Without its state the loss scale begins anew at 65,536: the first steps after each resume are skipped, or too small.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from torch import nn

from reference_impl.gallery import tasks


def train(steps: int) -> float:
    """Classify digits, stopped and resumed half way; returns the held-out accuracy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.pt"
        run(0, steps // 2, path)
        return run(steps // 2, steps, path)


def run(first: int, last: int, path: Path) -> float:
    """Steps `first` to `last`, on from the checkpoint where there is one, with a new checkpoint at the end."""
    torch.manual_seed(0)
    device = tasks.device()
    data, held_out = tasks.digits(device)
    model = tasks.ConvNet().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler(device.type, growth_interval=50)
    region = torch.autocast(device.type, dtype=torch.float16)
    if path.exists():
        state = torch.load(path, map_location=device, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scaler.load_state_dict(state["scaler"])

    for step, (images, labels) in enumerate(tasks.batches(data, 64, last)):
        if step < first:
            continue  # these batches were seen before the stop
        with region:
            loss = nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}
    torch.save(states, path)
    return tasks.accuracy(model, held_out, region)


if __name__ == "__main__":
    tasks.main(train, steps=200)
