"""Measured numbers: every sample kept, the summary beside it, the device and the class of the evidence."""

from __future__ import annotations

from verifygate.model.base import Model, Volatile
from verifygate.model.check import EvidenceClass, Status


class Arm(Model):
    """The samples of one side of a comparison, in the order in which they were taken."""

    name: str
    """`fp32`, `bf16`, `fp16`."""
    unit: str
    samples: Volatile[tuple[float, ...] | None] = None
    n: int = 0
    """How many samples there are: known even where the samples stay in `run`."""


class Measurement(Model):
    """One metric, compared with its target where there is one."""

    id: str
    """For example `speedup.bf16`."""
    title: str
    metric: str
    unit: str
    device: str
    """The device as the framework names it, for example `cpu` or `NVIDIA H200`."""
    kind: EvidenceClass = EvidenceClass.MEASURED
    status: Status
    target: str = ""
    """For example `>= 1.5`; empty where the number is only reported."""
    value: Volatile[float | None] = None
    low: Volatile[float | None] = None
    high: Volatile[float | None] = None
    """The ends of the 95 % confidence interval of the value."""
    arms: tuple[Arm, ...] = ()
    method: str = ""
    """How the value follows from the samples, in words."""
    reason: str = ""
    """Why it was not measured, and the command that would measure it."""
