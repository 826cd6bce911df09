"""The libraries that a run is given besides Python itself."""

from __future__ import annotations

from verifygate.static.machine.call import Library
from verifygate.static.machine.torch_library.library import TORCH

LIBRARIES: tuple[Library, ...] = (TORCH,)
