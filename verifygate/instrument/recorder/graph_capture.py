"""Whether a CUDA graph is being captured."""

from __future__ import annotations

import torch


def is_capturing() -> bool:
    """What is computed now becomes a part of a graph. Where CUDA is not in use, torch's own question may raise."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()  # type: ignore[no-untyped-call]
