"""Settings of the performance stage: what is measured, how often, by what it is believed, and what it has to reach."""

from __future__ import annotations

import shlex
import string
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from verifygate.model import Model

Positive = Annotated[float, Field(gt=0)]


class Targets(Model):
    """`[performance.targets]`: what AMP must reach against FP32, judged on an accelerator only."""

    speedup: Positive | None = None
    """FP32 step time divided by AMP step time, for example 1.5."""
    memory_reduction: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Share of FP32's peak memory that AMP saves, for example 0.4."""
    accuracy_difference: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Largest allowed absolute difference of accuracy, for example 0.01; judged on any device."""


class RecordsSettings(Model):
    """`[performance.records]`: measurements that were made elsewhere, and by what they are believed."""

    paths: tuple[str, ...] = ("reports/records/*.json",)
    """Glob patterns of records; they are asked for what this machine cannot measure itself."""
    files: tuple[str, ...] = (
        "pyproject.toml",
        "requirements*.txt",
        "constraints*.txt",
        "environment.yml",
        "uv.lock",
        "poetry.lock",
        "pdm.lock",
        "Pipfile.lock",
    )
    """Glob patterns of files that a measurement rests on besides the workload's own imports: configuration, locks, and
    whatever else the workload reads. A change of one of them makes a record stale."""
    max_age_days: Annotated[int, Field(ge=1)] = 90
    """Days after which a record says nothing any more."""
    device: str = "*"
    """Glob pattern of the device's name, for example `NVIDIA H100*`."""
    public_key: str = ""
    """PEM file of the Ed25519 or ECDSA key that records are signed with, relative to the configuration. Where it is
    set, an unsigned record counts for nothing. With `--since`, this table and the key are read from that revision."""


class ClusterSettings(Model):
    """`[performance.cluster]`: where `verifygate bench` measures."""

    executor: Literal["", "slurm", "local", "debug"] = ""
    """Where it is set, a job of submitit measures (extra `slurm`): on a node of SLURM, in a process here (`local`), or
    in the gate's own (`debug`)."""
    folder: str = ".verifygate/jobs"
    """Where jobs keep their logs and results, relative to the configuration; every node must see it."""
    parameters: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Passed on to submitit, for example `slurm_partition = "gpu"`, `gpus_per_node = 1`, `timeout_min = 30`."""
    processes: Annotated[int, Field(ge=1)] = 1
    """Processes of each arm, on any machine: torchrun starts them, a device each, and the workload makes its process
    group. Steps take as long as the slowest process; memory is that of the one that needs most."""


class PerformanceSettings(Model):
    """`[performance]`: the workload to measure."""

    workload: str = ""
    """`module:function`; the function is `build(precision, seed, device) -> workload`."""
    function: str = ""
    """Instead of a workload: `module:function` that trains, `train(precision, steps, seed)`, and may give back scores;
    it is timed at its own optimizer steps."""
    command: str = ""
    """Instead of a workload: `python train.py --precision={precision} --seed={seed} --steps={steps}`, or `python -m
    module ...`; `{device}`, and `{scores}` for a file with a JSON list of scores, may stand there too."""
    precision: Literal["", "bf16", "fp16"] = ""
    """AMP precision that the targets are about: `bf16` or `fp16`; what the device does best where it is empty."""
    arms: tuple[Literal["tf32", "bf16", "fp16"], ...] | None = None
    """Further arms to measure against fp32, without targets; where it is not set: on CUDA `tf32` and the other half
    precision, as far as the device computes in them, and on a CPU none."""
    rounds: Annotated[int, Field(ge=3)] = 6
    """Rounds before the first look at the intervals; in each one every arm is timed twice, there and back (A B B A)."""
    rounds_max: Annotated[int, Field(ge=3)] = 24
    """While a target is undecided the rounds are doubled, up to so many; no effect where it is below `rounds`."""
    steps: Annotated[int, Field(ge=2)] = 10
    """Timed optimizer steps of an arm in a round."""
    warmup: Annotated[int, Field(ge=0)] = 3
    """Steps before each timed block, thrown away."""
    train_steps: Annotated[int, Field(ge=1)] = 60
    """Optimizer steps before the accuracy of the arms is compared."""
    seeds: Annotated[tuple[int, ...], Field(min_length=1)] = (0, 1, 2)
    """One training of each arm from each seed: a difference that is smaller than what another seed makes of fp32 alone
    is no cost of AMP. The first seed's workload is timed as well."""
    evaluations: Annotated[int, Field(ge=1)] = 6
    """How often the training from the first seed is evaluated, at equal distances and the last time at its end, for the
    curve of the accuracy. A `function` or a `command` is evaluated at its end alone."""
    seconds: Positive = 300.0
    """Time limit of one arm's process; no round is begun that would not leave enough of it for what follows."""
    profile: bool = True
    """Whether fp32 and the judged arm are profiled as well: memory anatomy and growth, operators, waits of the host."""
    benchmarks: tuple[str, ...] = ()
    """Files of `pytest --benchmark-only --benchmark-save-data --benchmark-json=FILE`: of benchmarks with a precision as
    a parameter the ratios are shown. They ran one after the other, so they meet no target."""
    slowdown: Positive = 0.05
    """By how much a step may get slower, or its peak memory larger, against what `bench run --against` names."""
    targets: Targets = Field(default_factory=Targets)
    records: RecordsSettings = Field(default_factory=RecordsSettings)
    cluster: ClusterSettings = Field(default_factory=ClusterSettings)

    @field_validator("command")
    @classmethod
    def _runs_python(cls, command: str) -> str:
        if not command:
            return command
        try:
            words = shlex.split(command)
            names = {name for _, name, _, _ in string.Formatter().parse(command) if name is not None}
        except ValueError as error:
            raise ValueError(f"it cannot be taken apart: {error}") from None
        if words[0] != "python" or len(words) < 2 + (words[1:2] == ["-m"]):
            raise ValueError("write `python script.py ...` or `python -m module ...`: it runs in the measuring process")
        if missing := sorted({"precision", "seed", "steps"} - names):
            raise ValueError(f"`{{{missing[0]}}}` has to stand in it: it is what a run is told")
        if unknown := sorted(names - {"precision", "seed", "steps", "device", "scores"}):
            raise ValueError(f"nothing fills in `{{{unknown[0]}}}`")
        return command

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        named = [name for name in ("workload", "function", "command") if getattr(self, name)]
        if len(named) > 1:
            raise ValueError(f"`{named[0]}` and `{named[1]}` are both there: one thing can be measured")
        return self

    @property
    def measured(self) -> tuple[str, str]:
        """What is measured: `build`, `function` or `command`, and its text; the text is empty where nothing is."""
        kinds = {"build": self.workload, "function": self.function, "command": self.command}
        return next(((kind, text) for kind, text in kinds.items() if text), ("build", ""))
