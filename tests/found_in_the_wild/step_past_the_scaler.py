"""The loss is scaled, and `optimizer.step()` called instead of `scaler.step(optimizer)`.

Prints how far one step of SGD moves a weight whose gradient is 1, and what Adam makes of an overflow.
"""

from __future__ import annotations

import torch


def step(optimizer_class: type[torch.optim.Optimizer], *, by_scaler: bool, overflow: bool = False) -> float:
    """The weight after one step that begins at zero."""
    weight = torch.zeros((), requires_grad=True)
    optimizer = optimizer_class([weight], lr=0.1)  # type: ignore[call-arg]
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(weight * (float("inf") if overflow else 1.0)).backward()
    if by_scaler:
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()
    return float(weight.detach())


def main() -> None:
    for by_scaler in (False, True):
        how = "scaler.step(optimizer)" if by_scaler else "optimizer.step()"
        print(f"{how}, a gradient of 1: SGD moves the weight to {step(torch.optim.SGD, by_scaler=by_scaler):g}")
        after = step(torch.optim.Adam, by_scaler=by_scaler, overflow=True)
        print(f"{how}, a gradient that overflows: Adam moves the weight to {after:g}")


if __name__ == "__main__":
    main()
