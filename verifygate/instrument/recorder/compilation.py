"""Ask torch.compile whether it has compiled anything."""

from __future__ import annotations

import sys


def compiles() -> bool:
    """Whether torch.compile has compiled anything: autocast regions in there pass unseen."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return bool(dynamo is not None and dynamo.counters.get("frames"))
