"""Stage: what the source says, without running it."""

from verifygate.static.stage import StaticStage

__all__ = ["StaticStage"]
