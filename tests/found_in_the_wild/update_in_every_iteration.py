"""One scaler, groups of parameters that step every so many iterations, and `update()` in each iteration.

Prints what an iteration without any step does, and the gradient with which a group steps that accumulates over two
iterations while the scale doubles between them.
"""

from __future__ import annotations

import torch


def iterate(scaler: torch.amp.GradScaler, groups: list[tuple[torch.optim.Optimizer, int]], *, iterations: int) -> float:
    """Train with gradients of 1; the gradient, unscaled, with which the last group stepped last."""
    seen = 0.0
    for iteration in range(iterations):
        for optimizer, every in groups:
            if iteration % every == 0:
                optimizer.zero_grad()
        parameters = [optimizer.param_groups[0]["params"][0] for optimizer, _ in groups]
        scaler.scale(sum(1.0 * each for each in parameters)).backward()
        for optimizer, every in groups:
            if iteration % every == every - 1:
                scaler.unscale_(optimizer)
                seen = float(optimizer.param_groups[0]["params"][0].grad)
                scaler.step(optimizer)
        scaler.update()
    return seen


def group(every: int) -> tuple[torch.optim.Optimizer, int]:
    return torch.optim.SGD([torch.zeros((), requires_grad=True)], lr=0.1), every


def main() -> None:
    try:
        iterate(torch.amp.GradScaler("cpu"), [group(2)], iterations=1)
    except AssertionError as error:
        print(f"no group steps in an iteration: AssertionError: {error}")
    for interval in (1000, 1):
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=interval)
        gradient = iterate(scaler, [group(1), group(2)], iterations=2)
        grows = "doubles amid the window" if interval == 1 else "stays as it is"
        print(f"two gradients of 1, and a scale that {grows}: the group steps with {gradient:g}")


if __name__ == "__main__":
    main()
