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
    """Glob patterns of records; they are used for what this machine cannot measure itself."""
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
    """Glob patterns of files that a measurement depends on besides the workload's own imports: configuration, locks,
    and whatever else the workload reads. A change of one of them makes a record stale."""
    max_age_days: Annotated[int, Field(ge=1)] = 90
    """Days after which a record is stale."""
    device: str = "*"
    """Glob pattern of the device's name, for example `NVIDIA H100*`."""
    public_key: str = ""
    """PEM file of the Ed25519 or ECDSA public key of signed records, relative to the configuration. If it is set,
    unsigned records do not count. With `--since`, this table and the key are read from that revision."""


class ClusterSettings(Model):
    """`[performance.cluster]`: where `verifygate bench` measures."""

    executor: Literal["", "slurm", "local", "debug"] = ""
    """If it is set, a submitit job measures (extra `slurm`): on a node of SLURM, in a process on this machine
    (`local`), or in the gate's own process (`debug`)."""
    folder: str = ".verifygate/jobs"
    """Where jobs keep their logs and results, relative to the configuration; every node must see it."""
    parameters: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Passed on to submitit, for example `slurm_partition = "gpu"`, `gpus_per_node = 1`, `timeout_min = 30`."""
    processes: Annotated[int, Field(ge=1)] = 1
    """Processes of each arm, on any machine: torchrun starts them, one device each, and the workload creates its
    process group. The time of a step is that of the slowest process, memory that of the one with the highest peak."""


class PerformanceSettings(Model):
    """`[performance]`: the workload to measure."""

    workload: str = ""
    """`module:function`; the function is `build(precision, seed, device) -> workload`."""
    function: str = ""
    """Instead of a workload: `module:function` that trains, `train(precision, steps, seed)`, and may return scores; it
    is timed at its own optimizer steps."""
    command: str = ""
    """Instead of a workload: `python train.py --precision={precision} --seed={seed} --steps={steps}`, or `python -m
    module ...`; `{device}`, and `{scores}` for a file with a JSON list of scores, are replaced too."""
    precision: Literal["", "bf16", "fp16"] = ""
    """AMP precision that the targets are about: `bf16` or `fp16`; by default the one that suits the device best."""
    arms: tuple[Literal["tf32", "bf16", "fp16"], ...] | None = None
    """Further arms to measure against fp32, without targets. By default `tf32` and the other half precision on CUDA, as
    far as the device supports them, and none on a CPU."""
    rounds: Annotated[int, Field(ge=3)] = 6
    """Rounds before the first look at the intervals; in each round every arm is timed twice (A B B A)."""
    rounds_max: Annotated[int, Field(ge=3)] = 24
    """While a target is undecided the rounds are doubled, up to this number; no effect if it is below `rounds`."""
    steps: Annotated[int, Field(ge=2)] = 10
    """Timed optimizer steps of an arm in a round."""
    warmup: Annotated[int, Field(ge=0)] = 3
    """Untimed steps before each timed block."""
    train_steps: Annotated[int, Field(ge=1)] = 60
    """Optimizer steps before the accuracy of the arms is compared."""
    seeds: Annotated[tuple[int, ...], Field(min_length=1)] = (0, 1, 2)
    """Each arm is trained once from each seed: a difference that is smaller than that of fp32 between two seeds is not
    a cost of AMP. The first seed's workload is timed as well."""
    evaluations: Annotated[int, Field(ge=1)] = 6
    """How often the training from the first seed is evaluated, at equal distances and at its end, for the accuracy
    curve. A `function` or a `command` is evaluated only at its end."""
    seconds: Positive = 300.0
    """Time limit of one arm's process; a round starts only if it leaves enough time for the rest."""
    profile: bool = True
    """Whether fp32 and the judged arm are profiled as well: memory anatomy and growth, operators, waits of the host."""
    benchmarks: tuple[str, ...] = ()
    """Files of `pytest --benchmark-only --benchmark-save-data --benchmark-json=FILE`: for benchmarks with a precision
    as a parameter the ratios are shown. They ran one after the other, so they meet no target."""
    slowdown: Positive = 0.05
    """By how much a step may be slower, or its peak memory larger, than in what `bench run --against` names."""
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
            raise ValueError(f"it cannot be parsed: {error}") from None
        if words[0] != "python" or len(words) < 2 + (words[1:2] == ["-m"]):
            raise ValueError("write `python script.py ...` or `python -m module ...`: it runs in the measuring process")
        if missing := sorted({"precision", "seed", "steps"} - names):
            raise ValueError(f"`{{{missing[0]}}}` is missing: each run is started with its own value")
        if unknown := sorted(names - {"precision", "seed", "steps", "device", "scores"}):
            raise ValueError(f"unknown placeholder `{{{unknown[0]}}}`")
        return command

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        named = [name for name in ("workload", "function", "command") if getattr(self, name)]
        if len(named) > 1:
            raise ValueError(f"`{named[0]}` and `{named[1]}` are both set: only one workload can be measured")
        return self

    @property
    def measured(self) -> tuple[str, str]:
        """What is measured: `build`, `function` or `command`, and its text; the text is empty where nothing is."""
        kinds = {"build": self.workload, "function": self.function, "command": self.command}
        return next(((kind, text) for kind, text in kinds.items() if text), ("build", ""))
