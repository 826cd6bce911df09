"""The libraries that a run is given besides Python itself."""

from __future__ import annotations

from verifygate.static.machine.call import Library

LIBRARIES: tuple[Library, ...] = ()
"""None yet: what a program does with torch is not followed."""
