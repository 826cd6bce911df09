"""Where a fault of the analysis itself happened: the file that it looked at."""

from __future__ import annotations

from verifygate.base.failures import contained, words_of
from verifygate.model import NotFollowed
from verifygate.sources.file import SourceFile
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function, Module


def gave_up(error: Exception, path: str, what: str, rule: str = "") -> NotFollowed:
    """What a fault leaves unknown, at the file that was looked at, or else at `path`. Raises what is no such fault."""
    contained(error)
    found = place_of(error) or (path, 1)
    reason = f"{what} gave up, which is a fault of verifygate's own: {words_of(error)}"
    return NotFollowed(path=found[0], line=found[1], reason=reason, rule=rule)


def place_of(error: Exception) -> tuple[str, int] | None:
    """File and line of what the innermost function that knows of any looked at."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    for frame in reversed(frames):
        for value in frame.f_locals.values():
            found = _place(value) or _place(getattr(value, "_file", None))
            if found is not None:
                return found
    return None


def _place(value: object) -> tuple[str, int] | None:
    if isinstance(value, Location):
        return value.path, value.line
    if isinstance(value, Function | Class):
        return value.module.path, getattr(value.node, "lineno", 1)
    return (value.path, 1) if isinstance(value, Module | SourceFile) else None
