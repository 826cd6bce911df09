"""Which steps come without a forward of the wrapper: told apart by wrapper and by optimizer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from verifygate.instrument.recorder.reduction_watch import ReductionWatch


def test_optimizers_that_step_behind_one_forward_are_not_alone() -> None:
    wrapper = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    for parameter in wrapper.parameters():
        parameter.grad = torch.ones_like(parameter)
    first, second = (SimpleNamespace(index=at, parameters=[*wrapper[at].parameters()]) for at in (0, 1))
    watch: Any = ReductionWatch(SimpleNamespace())  # type: ignore[arg-type]
    watch._made((wrapper,), {})(None, None)
    assert watch.stepped(first)
    watch._forward((wrapper,), {})
    assert not watch.stepped(first)
    assert not watch.stepped(second)
    assert watch.stepped(second)
    with torch.no_grad():
        watch._forward((wrapper,), {})
    assert watch.stepped(first)
