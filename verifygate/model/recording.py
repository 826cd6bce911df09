"""What the operations of a few steps of a run computed, and at which of them two runs part."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from verifygate.model.base import Model
from verifygate.model.probe_report import ProbeReport


class Operation(Model):
    """One result of one operation, or one tensor that a window began or ended with."""

    kind: Literal["input", "weight before", "forward", "backward", "gradient", "weight"]
    operator: str
    """Of aten, as `mm`; the parameter's name where `kind` says that it is one."""
    dtype: str
    dtypes: tuple[str, ...] = ()
    """Of the floating-point inputs."""
    device: str
    shape: tuple[int, ...]
    module: str = ""
    path: str = ""
    line: int = 0
    symbol: str = ""
    text: str = ""
    """The line of the source."""
    autocast: str = ""
    """`cpu bfloat16`; empty where none was in force."""
    random: bool = False
    """Whether it draws random numbers."""
    sketch: tuple[float, ...]
    """Sums of signed elements, the squared norm, the number of elements that are not finite."""


class Window(Model):
    """From one optimizer step to the next."""

    step: int
    """Counted from 1."""
    dropped: int = 0
    """Results beyond the limit, which were not kept."""
    operations: tuple[Operation, ...]


class Recording(Model):
    """What `verifygate probe --record` writes."""

    recording: Literal["verifygate"] = "verifygate"
    schema_version: Literal[1] = 1
    report: ProbeReport
    processes: tuple[tuple[Window, ...], ...]
    """Of each process that trained; the ranks of a run in the order in which they started."""
    why_not: str = ""
    """Why steps of the run were not recorded; empty where nothing stood in the way."""


class Cause(StrEnum):
    """What explains that two runs part."""

    INPUT = "input"
    WEIGHTS = "weights"
    RANDOM = "random numbers"
    SOURCE = "source"
    OPERATIONS = "operations"
    CAST = "cast"
    DEVICE = "device"
    UNEXPLAINED = "unexplained"


class Parting(Model):
    """One place at which two runs differ."""

    step: int
    old: Operation
    new: Operation
    error: float
    """||new - old|| / ||old||, as the sketches tell it; inf where one alone is not finite."""
    limit: float
    """What rounding explains up to there: 16 eps of the coarsest dtype so far."""
    cause: Cause
    reason: str


class Comparison(Model):
    """Two recordings, held against each other."""

    compared: int
    """Pairs of results."""
    alone: tuple[int, int]
    """Results of the old and of the new run that have no counterpart."""
    steps: tuple[int, ...]
    first: Parting | None = None
    """The first pair that differs at all."""
    beyond: Parting | None = None
    """The first pair that differs by more than rounding explains."""
    dropped: int = 0
    """Results of both runs that were beyond the limit, and not kept."""
    why_not: tuple[str, ...] = ()
    """Why the old or the new run was not recorded."""
    reduced_only: bool = False
    """Whether the worlds have different sizes, so that only gradients and weights of steps are held together."""
