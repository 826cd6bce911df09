"""A scaler that is made anew before each backward, or in each epoch, forgets the scale it has learned.

The loss is a sum over half-precision outputs: its gradient is the scale itself, and 65536 is infinite in half
precision. Prints how many of the optimizer's steps are skipped.
"""

from __future__ import annotations

import torch


def skipped(*, epochs: int, iterations: int, anew: str) -> int:
    """How many steps the scaler skips; `anew` says when it is made: `once`, `epoch` or `iteration`."""
    weight = torch.ones(4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.001)
    scaler = torch.amp.GradScaler("cpu")
    steps = 0
    for _ in range(epochs):
        if anew == "epoch":
            scaler = torch.amp.GradScaler("cpu")
        for _ in range(iterations):
            if anew == "iteration":
                scaler = torch.amp.GradScaler("cpu")
            before = weight.detach().clone()
            optimizer.zero_grad()
            scaler.scale(weight.half().float().sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            steps += not torch.equal(weight.detach(), before)
    return epochs * iterations - steps


def main() -> None:
    for anew in ("iteration", "epoch", "once"):
        made = "made once" if anew == "once" else f"made in each {anew}"
        print(f"a scaler {made}: {skipped(epochs=3, iterations=5, anew=anew)} of 15 steps are skipped")


if __name__ == "__main__":
    main()
