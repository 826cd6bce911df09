"""Two context managers joined by `and`: the first is never entered. Prints the dtype that a layer computes in."""

from __future__ import annotations

import torch
from torch import nn


def dtype_computed_in(*, joined_by_and: bool) -> str:
    """The dtype of a layer's output: autocast is entered, or only made."""
    layer, inputs = nn.Linear(4, 4), torch.ones(2, 4)
    if joined_by_and:
        with torch.autocast("cpu", dtype=torch.bfloat16) and torch.no_grad():
            return str(layer(inputs).dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        return str(layer(inputs).dtype)


def main() -> None:
    print(f"with autocast(...) and no_grad(): {dtype_computed_in(joined_by_and=True)}")
    print(f"with autocast(...), no_grad(): {dtype_computed_in(joined_by_and=False)}")


if __name__ == "__main__":
    main()
