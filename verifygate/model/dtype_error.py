"""An error about dtypes that ended a run: what the call was given, and where each operand has its dtype from."""

from __future__ import annotations

from verifygate.model.base import Model


class DtypeOperand(Model):
    """One floating-point tensor of the call that raised."""

    text: str
    """As the source writes it: `self.weight`."""
    dtype: str
    origin: str
    """Where it comes from, in words."""
    path: str = ""
    """The line that bound it, or where its module was cast; empty where no line is known."""
    line: int = 0


class DtypeError(Model):
    """The call that raised, its operands, and the cast that mends it."""

    path: str
    line: int
    call: str
    """The expression of the project's line."""
    region: str
    """Which autocast was in force, in words."""
    operands: tuple[DtypeOperand, ...]
    remedy: str
