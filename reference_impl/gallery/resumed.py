"""A checkpoint of float16 training: the scaler belongs into it, as weights, optimizer and random state do.

Without its state the loss scale begins anew at 65,536: the first steps after each resume are skipped, or too small.
Run it twice: the second run goes on where the first one has stopped, and ends with the same bits as an unbroken one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import nn

from reference_impl.gallery import tasks

EVERY = 4
"""Steps between two checkpoints."""


def train(steps: int, path: Path) -> float:
    """Classify digits up to step `steps`, on from the checkpoint where there is one; returns the held-out accuracy."""
    torch.manual_seed(0)
    device = tasks.device()
    data, held_out = tasks.digits(device)
    model = tasks.ConvNet().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler(device.type, growth_interval=50)
    region = torch.autocast(device.type, dtype=torch.float16)
    done, unfinished = 0, path.with_suffix(".unfinished")
    if path.exists():
        state = torch.load(path, map_location=device, weights_only=True)
        done = state["done"]
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scaler.load_state_dict(state["scaler"])
        torch.set_rng_state(state["random"].cpu())  # dropout goes on as well; of CUDA, torch.cuda.get_rng_state_all()

    for step, (images, labels) in enumerate(tasks.batches(data, 64, steps), start=1):
        if step <= done:
            continue  # these batches were seen before the stop
        with region:
            loss = nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        if step % EVERY == 0:  # behind `update`: what the scaler has learned of this step is in its state
            states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}
            torch.save(states | {"done": step, "random": torch.get_rng_state()}, unfinished)
            unfinished.replace(path)  # at once: a run that is killed while it writes keeps the one before

    return tasks.accuracy(model, held_out, region)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=train.__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoint.pt"))
    options = parser.parse_args()
    print(f"after {options.steps} steps: {train(options.steps, options.checkpoint):.1%}")
