"""A comparison as data: the plan, the arms, their rounds and samples; everything the judgement rests on, nothing else.

`dumped` and `loaded` turn a comparison into JSON and back without losing a bit: raw samples, flags, machine, digests.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePosixPath
from statistics import median
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

PROTOCOL_VERSION = 2
"""Raised whenever the same workload could give other numbers, or the same numbers could mean something else."""
SPARE_ROUNDS = 2
"""So many rounds in all may be taken again, because a clock contradicted the gate's in them."""
BASE = "fp32"
"""The arm that every other one is compared with: FP32 throughout, TF32 switched off."""
TF32 = "tf32"
"""The workload built for fp32, with TF32 switched on: what FP32 code gets on most devices without any AMP."""
HALF = ("bf16", "fp16")
STRICT = ConfigDict(extra="forbid", ser_json_inf_nan="strings")


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

    __pydantic_config__ = STRICT

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
class Plan:
    """What is to be measured, and when it is looked at: fixed before the first sample is taken."""

    __pydantic_config__ = STRICT

    workload: str
    steps: int
    """Timed steps of an arm in a round."""
    warmup: int
    """Steps before each timed block, thrown away."""
    train_steps: int
    seeds: tuple[int, ...]
    """Of the trainings whose outcomes are compared; the first one's workload is timed as well."""
    rounds: int
    """After so many rounds the intervals are looked at first."""
    rounds_max: int
    """No more rounds than these, however wide the intervals."""
    processes: int = 1
    """Of each arm, a device each."""
    kind: str = "build"
    """What `workload` names: `build`, a function that gives a workload; `function`, one that trains; or a `command`."""
    evaluations: int = 1
    """Of the first seed's training, the last one at its end."""

    @property
    def most_steps(self) -> int:
        """Steps that one arm takes while it is timed, at the most."""
        return (self.rounds_max + SPARE_ROUNDS) * (2 * self.warmup + self.steps)

    @property
    def module(self) -> str:
        """The module that the measurement begins with, dotted."""
        if self.kind != "command":
            return self.workload.partition(":")[0]
        first, *rest = shlex.split(self.workload)[1:]
        return rest[0] if first == "-m" else PurePosixPath(first).with_suffix("").as_posix().replace("/", ".")

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of rounds after which there is a look: `rounds`, doubled until `rounds_max`.

        They are fixed in advance, so that the error rate can be shared out among them: whoever looks after every
        round and stops at the first lucky one is wrong far more often than the interval says.
        """
        found = [self.rounds]
        while 2 * found[-1] < self.rounds_max:
            found.append(2 * found[-1])
        return (*found, self.rounds_max) if self.rounds_max > found[-1] else tuple(found)


@dataclass(frozen=True)
class Training:
    """One training from one seed, untimed, and the scores that its outcome got."""

    __pydantic_config__ = STRICT

    seed: int
    steps: int
    effective: int
    """How many of the steps moved the parameters."""
    scores: tuple[float, ...]
    """One for each item of the evaluation; NaN and infinity are kept as what they are."""
    digest: str | None = None
    """The workload's digest of the data that it trained on."""
    losses: tuple[float, ...] = ()
    """What each step() returned, where it returns a number."""
    scales: tuple[float, ...] = ()
    """The workload's `loss_scale` after each step, where it has one."""
    accuracy: tuple[tuple[int, float], ...] = ()
    """Steps taken, and the mean score of the items then: the evaluations on the way, without the one at the end."""


@dataclass(frozen=True)
class Round:
    """The timed steps of one arm in one round."""

    __pydantic_config__ = STRICT

    seconds: tuple[float, ...]
    effective: int
    """How many of them moved the parameters; a gradient scaler skips the others."""
    peak_bytes: int | None = None
    """Peak of what was allocated, above what was allocated before the workload was built."""
    reserved_bytes: int | None = None
    """Peak of what the allocator held, above what it held before."""
    digest: str | None = None
    """The workload's digest of all data that it has seen by the end of the round."""
    state: Mapping[str, float] = field(default_factory=dict)
    """The machine before the round, name -> figure, for example `load`, `sm_mhz`, `power_w`, `other_processes`."""

    @property
    def effective_step_seconds(self) -> float:
        """What one effective step costs: a skipped step takes its time and does no work."""
        return median(self.seconds) * len(self.seconds) / self.effective if self.effective else math.inf


@dataclass(frozen=True)
class Host:
    """What an arm's process runs on."""

    __pydantic_config__ = STRICT

    platform: str
    python: str
    torch: str
    device: str
    """`cuda` or `cpu`."""
    device_name: str
    """As the framework names it, for example `NVIDIA H200`."""
    bf16: bool
    """Whether the device computes in bfloat16."""
    tf32: bool = False
    """Whether the device computes in TF32."""
    details: Mapping[str, str] = field(default_factory=dict)
    """What else tells one machine from another: processor, driver, CUDA and cuDNN versions, power limit."""

    @property
    def accelerator(self) -> bool:
        return self.device != "cpu"


@dataclass
class ArmRecord:
    """One arm, filled in while it runs; complete where `failure` is None."""

    __pydantic_config__ = STRICT

    name: str
    """`fp32`, `tf32`, `bf16` or `fp16`."""
    host: Host | None = None
    samples_per_step: int = 0
    parameter_bytes: int | None = None
    weights_digest: str | None = None
    """SHA-256 of the parameters before the first step, where the workload shows its `model`."""
    flags: Mapping[str, str] = field(default_factory=dict)
    trainings: list[Training] = field(default_factory=list)
    """In the order of the plan's seeds; the first one is of the workload that is timed."""
    rounds: list[Round] = field(default_factory=list)
    files: tuple[str, ...] = ()
    """Paths below the project's root of the modules that it had imported by the end of its last order."""
    failure: Failure | None = None
    computed_in: Mapping[str, str] = field(default_factory=dict)
    """Kind of work -> `IEEE` or `TF32`, of what is left to float32: by the switches that held in this process."""

    @property
    def scores(self) -> tuple[float, ...]:
        """Of the first seed."""
        return self.trainings[0].scores if self.trainings else ()

    @property
    def peak_bytes(self) -> tuple[float, ...]:
        """Peak of each round; empty where the device does not count."""
        return tuple(float(block.peak_bytes) for block in self.rounds if block.peak_bytes is not None)

    @property
    def reserved_bytes(self) -> tuple[float, ...]:
        """Peak of what the allocator held in each round; empty where the device does not count."""
        return tuple(float(block.reserved_bytes) for block in self.rounds if block.reserved_bytes is not None)

    @property
    def step_seconds(self) -> tuple[float, ...]:
        return tuple(seconds for block in self.rounds for seconds in block.seconds)


@dataclass(frozen=True)
class Comparison:
    """The arms of one run of the protocol: fp32 first, then the one that the targets are about, then any others."""

    __pydantic_config__ = STRICT

    plan: Plan
    arms: tuple[ArmRecord, ...]
    protocol: int = PROTOCOL_VERSION

    @property
    def base(self) -> ArmRecord:
        return self.arms[0]

    @property
    def judged(self) -> ArmRecord:
        """The arm that the targets are about."""
        return self.arms[1]

    @property
    def host(self) -> Host | None:
        return next((arm.host for arm in self.arms if arm.host), None)

    @property
    def accelerated(self) -> bool:
        """Whether it was made on an accelerator."""
        return self.host is not None and self.host.accelerator


def dumped(comparison: Comparison) -> dict[str, Any]:
    """The comparison as a JSON object; `loaded` gives the same comparison back, NaN and infinity included."""
    document: dict[str, Any] = json.loads(_adapter().dump_json(comparison))
    return document


def loaded(document: object) -> Comparison:
    """The comparison that `dumped` wrote. Raises ValueError, in one line, where the document is not one."""
    try:
        comparison = _adapter().validate_json(json.dumps(document))
    except (ValidationError, TypeError) as error:
        raise ValueError(f"not a comparison of this version: {_first(error)}") from None
    if comparison.protocol != PROTOCOL_VERSION:
        raise ValueError(f"measured by protocol {comparison.protocol}; this version reads {PROTOCOL_VERSION}")
    if len(comparison.arms) < 2 or comparison.base.name != BASE:
        raise ValueError(f"a comparison has at least two arms, of which the first is {BASE}")
    return comparison


@lru_cache
def _adapter() -> TypeAdapter[Comparison]:
    return TypeAdapter(Comparison)


def _first(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"`{'.'.join(map(str, problem['loc'])) or 'document'}`: {problem['msg']}"
