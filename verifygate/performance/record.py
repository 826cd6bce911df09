"""What one arm delivered, as data: everything the judgement rests on, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median


class Trouble(StrEnum):
    """Why an arm ended early."""

    START = "start"
    """Its process did not come up: no interpreter, no torch, or an end before the first word."""
    CONTRACT = "contract"
    """The workload is not there, or not what the contract asks for."""
    RAISED = "raised"
    MEMORY = "memory"
    """It does not fit on the device, not even by itself."""
    BESIDE = "beside"
    """It fits on the device, but not while the other arm is there."""
    CRASH = "crash"
    TIMEOUT = "timeout"
    TAMPERED = "tampered"
    """Its own clock contradicts the gate's."""


RUN_AGAIN = " run `verifygate run --stage performance` again"
WHILE = {
    "start": "starting",
    "build": "building the workload",
    "train": "training",
    "evaluate": "evaluating",
    "block": "being timed",
}


@dataclass(frozen=True)
class Failure:
    """The early end of an arm, in one line that is the same for the same cause."""

    trouble: Trouble
    text: str
    during: str = "start"
    """The order it failed at: `start`, `build`, `train`, `evaluate` or `block`."""
    peak_bytes: int | None = None
    """How much it had allocated by then, where the device counts it."""

    @property
    def broke_in_training(self) -> bool:
        """Whether the project's own steps broke: a fault of the code, not a gap in the measurement."""
        return self.trouble in (Trouble.RAISED, Trouble.CRASH) and self.during not in ("start", "build")

    def __str__(self) -> str:
        return f"{self.text} (while {WHILE[self.during]})"

    @property
    def remedy(self) -> str:
        """What would let the arm run to its end."""
        if self.trouble in (Trouble.MEMORY, Trouble.BESIDE):
            return "lower the workload's batch size until both arms fit on the device, then" + RUN_AGAIN
        if self.trouble is Trouble.TIMEOUT:
            return "raise `performance.seconds` or find what hangs, then" + RUN_AGAIN
        return "correct what is named here, then" + RUN_AGAIN


@dataclass(frozen=True)
class Round:
    """One timed block of steps."""

    seconds: tuple[float, ...]
    effective: int
    """How many of them moved the parameters; a gradient scaler skips the others."""
    peak_bytes: int | None = None

    @property
    def effective_step_seconds(self) -> float:
        """What one effective step costs: a skipped step takes its time and does no work."""
        return median(self.seconds) * len(self.seconds) / self.effective if self.effective else math.inf


@dataclass(frozen=True)
class Host:
    """What an arm's process runs on."""

    platform: str
    python: str
    torch: str
    device: str
    """`cuda` or `cpu`."""
    device_name: str
    """As the framework names it, for example `NVIDIA H200`."""
    bf16: bool
    """Whether the device computes in bfloat16."""

    @property
    def accelerator(self) -> bool:
        return self.device != "cpu"


@dataclass
class ArmRecord:
    """One arm, filled in while it runs; complete where `failure` is None."""

    name: str
    """`fp32`, `bf16` or `fp16`."""
    host: Host | None = None
    samples_per_step: int = 0
    parameter_bytes: int | None = None
    flags: Mapping[str, str] = field(default_factory=dict)
    trained_effective: int | None = None
    """Effective steps of the training that is evaluated."""
    scores: tuple[float, ...] = ()
    rounds: list[Round] = field(default_factory=list)
    digests: list[str | None] = field(default_factory=list)
    """The data's digest after the training and after each round."""
    failure: Failure | None = None

    @property
    def peak_bytes(self) -> tuple[float, ...]:
        """Peak of each round; empty where the device does not count."""
        return tuple(float(block.peak_bytes) for block in self.rounds if block.peak_bytes is not None)

    @property
    def step_seconds(self) -> tuple[float, ...]:
        return tuple(seconds for block in self.rounds for seconds in block.seconds)


@dataclass(frozen=True)
class Comparison:
    """The two arms of one run of the protocol."""

    fp32: ArmRecord
    amp: ArmRecord

    @property
    def arms(self) -> tuple[ArmRecord, ArmRecord]:
        return self.fp32, self.amp

    @property
    def host(self) -> Host | None:
        return self.fp32.host or self.amp.host

    @property
    def failure(self) -> str:
        """Which arm ended early and why, in one line; empty where both are complete."""
        return "; ".join(f"{arm.name}: {arm.failure}" for arm in self.arms if arm.failure)

    @property
    def remedy(self) -> str:
        """What to do about an obstacle to comparing the arms."""
        failed = [arm.failure for arm in self.arms if arm.failure]
        return failed[0].remedy if failed else "make the arms equal in all but precision, then" + RUN_AGAIN
