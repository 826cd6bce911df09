"""The libraries that a run is given besides Python itself."""

from __future__ import annotations

from verifygate.static.machine.call import Library
from verifygate.static.machine.models import MODELS
from verifygate.static.machine.torch_library.library import TORCH, TORCH_WITHOUT_CUDA

LIBRARIES: tuple[Library, ...] = (TORCH, MODELS)
WITHOUT_CUDA: tuple[Library, ...] = (TORCH_WITHOUT_CUDA, MODELS)
"""The same on a computer that has no GPU."""
