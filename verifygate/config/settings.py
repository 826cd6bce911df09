"""Settings: what `verifygate.toml` (or `[tool.verifygate]` in pyproject.toml) says, checked; or what is discovered."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from verifygate.base.errors import UsageError
from verifygate.config.documents import Document, read_toml
from verifygate.config.locate import find, lies_in
from verifygate.config.model_files import ModelFile, read_model_files
from verifygate.config.performance import PerformanceSettings, Positive
from verifygate.config.project import LABELS, ProjectSettings
from verifygate.config.rule_selection import RuleSelection
from verifygate.config.tree_versions import versions_of_tree
from verifygate.config.version_pins import FRAMEWORKS
from verifygate.model.base import Model
from verifygate.model.finding import BLOCKING, Severity
from verifygate.model.policy import Waiver
from verifygate.model.program import Program
from verifygate.rule_codes import SecurityRisk
from verifygate.sources.left_out import Exclusion
from verifygate.stage_registry import STAGES, default_weights

BENDING = ("PYTHON", "PYTEST", "COVERAGE", "COV_CORE", "LD_PRELOAD", "DYLD_", "VERIFYGATE")
"""Beginnings of environment variables that change how Python, pytest or the gate's witnesses work."""


class ResumeSettings(Model):
    """An entry of `[[execution.oracles.resume]]`: training that saves a checkpoint, and goes on from it."""

    train: str
    """The command that trains, saves, and trains on. `{temporary}` is replaced by a folder that both commands share."""
    resume: str
    """The command that goes on from what `train` saved, to the same end."""
    emulated: bool = False
    """Whether it needs CUDA, which is emulated on the CPU where the machine has none."""


class OraclesSettings(Model):
    """`[execution.oracles]`: training that is run with other loss scales, and with inf put into its gradients."""

    entries: tuple[str, ...] = ()
    """Commands that train: `python train.py ...`, `python -m package.train ...`, or a test's id. `{temporary}` is
    replaced by a folder of that run."""
    emulated_entries: tuple[str, ...] = ()
    """The same, for training that needs CUDA: it runs with CUDA emulated on the CPU, unless the machine has CUDA, and
    its evidence has the class `emulated`. The report numbers these after the `entries`."""
    steps: Annotated[int, Field(ge=3)] = 6
    """Updates of the scaler after which a run is stopped."""
    inject_at: Annotated[int, Field(ge=2)] = 3
    """The window that gets an inf, counted from 1; correct code must have made a step before it."""
    seconds: Positive = 120.0
    """Time limit of one run."""
    resume: tuple[ResumeSettings, ...] = ()
    """Training that must go on from its checkpoint as if nobody had stopped it. The report numbers these last."""

    @property
    def commands(self) -> tuple[str, ...]:
        """All that is asked, in the order of its numbers in the report."""
        return self.entries + self.emulated_entries


class ExecutionSettings(Model):
    """`[execution]`: how the project's own tests run."""

    tests: bool = True
    """Whether the project has tests. With `false` there are none: no file is taken for one, whatever it is called, and
    nothing is asked of them."""
    pytest: tuple[str, ...] = ()
    """Arguments for pytest: paths and options; by default the discovered test paths."""
    interpreter: str = ""
    """Path of the project's Python; by default that of the project's virtual environment, else the gate's own."""
    seconds: Positive = 600.0
    """Time limit of the whole test run."""
    required: tuple[str, ...] = ()
    """Test ids, or their beginnings up to a `/`, `::` or `[`, that must run and pass; a skipped one is NOT MEASURED."""
    uncollected: tuple[str, ...] = ()
    """Patterns of test files, or of test ids, that are in the source and need not be among the tests of a run, for
    example `tests/gpu/*`."""
    coverage: bool = True
    """Whether to record which test executes which function."""
    recorder: bool = True
    """Whether to record what the tests do with AMP, and to judge it by the protocol."""
    emulate_cuda: bool = True
    """Whether tests that skip because there is no CUDA device run again with CUDA emulated on the CPU; the results are
    reported separately, as evidence of the class `emulated`."""
    emulated_capability: Annotated[str, Field(pattern=r"^[1-9]\d?\.\d$")] = "8.0"
    """Compute capability of the emulated CUDA device; below `8.0`, e.g. `7.5`, it has no bfloat16 in hardware."""
    oracles: OraclesSettings = Field(default_factory=OraclesSettings)
    retry: bool = True
    """Whether tests that failed run once more, alone, in a fresh process, to find out which are flaky."""
    test_seconds: Positive | None = None
    """Time limit of one test; the run ends at the test that exceeds it, and the report shows the line it was at."""
    memory_mib: Annotated[int, Field(ge=1)] | None = None
    """Address space of each process of a test run, Linux only. CUDA reserves far more than it uses: set none there."""
    file_mib: Annotated[int, Field(ge=1)] | None = None
    """Largest file that a process of a test run may write, Linux only."""
    processes: Annotated[int, Field(ge=1)] | None = None
    """How many processes a test run may have at once, Linux only."""
    pass_env: tuple[str, ...] = ()
    """Names of further environment variables that the project's processes inherit, for example `DATA_DIR`."""
    isolation: Literal["", "off", "auto", "required"] = ""
    """How far the project's processes are kept away from the machine, on Linux: with `auto` they write private copies
    and see neither credentials, sockets nor other processes, as far as the kernel grants it; with `required` they have
    no network either, and an empty `/tmp`, and do not start where the kernel does not grant all of it. By default
    `auto`; `off` on a machine with an accelerator, where it is not measured."""
    hermetic: bool = False
    """Whether the project's processes need nothing but the project, its interpreter and the system: no network, no home
    folder, no git. Where the machine grants every layer of isolation they get nothing else, and `run` keeps what they
    answered until something that they can read changes, or the day ends. Elsewhere this changes nothing."""

    @property
    def capability(self) -> tuple[int, int]:
        """The emulated device's, as two numbers."""
        major, minor = self.emulated_capability.split(".")
        return int(major), int(minor)

    @model_validator(mode="after")
    def _has_what_it_names(self) -> Self:
        named = [key for key in ("pytest", "required", "uncollected") if getattr(self, key)]
        if named and not self.tests:
            raise ValueError(f"`tests = false` says that there are none, and `{named[0]}` names some")
        return self

    @field_validator("pass_env")
    @classmethod
    def _harmless(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if bending := [name for name in names if name.upper().startswith(BENDING)]:
            raise ValueError(f"`{bending[0]}` can change what a run does or reports, so it is not passed on")
        return names


def _version(text: str) -> str:
    from packaging.version import InvalidVersion, Version

    try:
        return str(Version(text))
    except InvalidVersion:
        raise ValueError("no version: write for example `2.1`") from None


class StaticSettings(Model):
    """`[static]`: which rules run where."""

    select: tuple[str, ...] = ()
    """Rule codes, names or families (`AMP2`); by default all rules."""
    ignore: tuple[str, ...] = ()
    """The same, for rules that do not run."""
    per_file_ignores: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Glob pattern -> rule codes."""
    torch_version: str = ""
    """Torch version that the project runs on, for example `2.1`: rules about newer interfaces are silent, and NOT
    APPLICABLE in the report, and fixes write no name that it lacks. By default what pyproject.toml, setup.py,
    setup.cfg, requirements, conda environments and lock files allow in the nearest folder above each file."""
    framework_versions: dict[str, str] = Field(default_factory=dict)
    """Package of a training framework -> its version, such as `{transformers = "4.57"}`: what was removed, renamed or
    is not known yet is judged by it. By default what the same files allow."""
    abstract_run: bool = True
    """Whether `verifygate run` also runs the programs on the abstract machine, in a bounded number of steps, and
    reports what AMP701, AMP702, AMP703 and AMP707 see there. `check` does it with `--abstract-run`."""
    models: tuple[str, ...] = ()
    """Python files that model the project's own training framework, relative to the configuration: what it does with
    losses, scalers and optimizers, for the abstract runs ([how](models.md)). They are not judged themselves."""

    @field_validator("torch_version")
    @classmethod
    def _is_a_version(cls, text: str) -> str:
        return _version(text) if text else ""

    @field_validator("framework_versions")
    @classmethod
    def _are_versions(cls, versions: dict[str, str]) -> dict[str, str]:
        if strange := [name for name in versions if name not in FRAMEWORKS]:
            raise ValueError(f"`{strange[0]}` is none of {', '.join(FRAMEWORKS)}")
        return {name: _version(text) for name, text in versions.items()}

    @property
    def selection(self) -> RuleSelection:
        """What the analysis reads of it, as it is set."""
        return RuleSelection(
            self.select, self.ignore, self.per_file_ignores, self.torch_version, self.framework_versions
        )

    @property
    def gate_selection(self) -> RuleSelection:
        """The same in the gate, which makes abstract runs unless that is switched off."""
        return self.selection._replace(abstract_run=self.abstract_run)


class SecuritySettings(Model):
    """`[security]`: what the security stage looks at."""

    ignore: tuple[str, ...] = ()
    """Codes of its rules that do not run, for example `SEC105`."""
    network: bool = False
    """Whether an analyser may ask the network: pip-audit has its data there."""

    @field_validator("ignore")
    @classmethod
    def _are_codes(cls, codes: tuple[str, ...]) -> tuple[str, ...]:
        if strange := [code for code in codes if code not in tuple(SecurityRisk)]:
            raise ValueError(f"`{strange[0]}` is none of {', '.join(SecurityRisk)}")
        return codes


class ForeignResults(Model):
    """`[[requirements.junit]]`: results of tests that another runner ran."""

    file: str
    """Path of the JUnit XML file, relative to the configuration."""
    kind: Literal["declared", "executed"] = Field(default="declared", alias="class")
    """Its evidence class: `executed` if you trust that it comes from a run of this very code, for example because your
    CI wrote it; `declared` results never let a requirement PASS."""


class RequirementsSettings(Model):
    """`[requirements]`: the specification to trace."""

    spec: str = ""
    """Path of the specification, YAML or TOML, relative to the configuration."""
    junit: tuple[ForeignResults, ...] = ()


class VerdictSettings(Model):
    """`[verdict]`: what blocks, and how points are shared out."""

    block: tuple[Severity, ...] = BLOCKING
    """Severities at which a certain finding blocks."""
    weights: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=default_weights)
    """Share of the score per stage; stages that do not apply are left out, and the others share 100."""
    baseline: str = ""
    """Path of a baseline file, relative to the configuration: findings in it are counted and do not block.
    `verifygate baseline write` makes it."""
    allow_new_suppressions: bool = False
    """Whether a comment of a change that suppresses the change's own certain finding, of a severity that blocks, holds
    at once. By default it blocks until it is in the commit that the change is compared with."""
    advisory_until: dt.date | None = None
    """Last day on which a BLOCK is printed and ends with exit code 0, for example `2026-12-31`; from the day after, it
    ends with 1."""

    @field_validator("baseline")
    @classmethod
    def _inside(cls, path: str) -> str:
        if path and (Path(path).is_absolute() or ".." in Path(path).parts or not path.endswith(".toml")):
            raise ValueError("name a .toml file below the configuration's folder")
        return path

    @field_validator("weights")
    @classmethod
    def _stages_only(cls, weights: dict[str, int]) -> dict[str, int]:
        if unknown := sorted(set(weights) - set(STAGES)):
            raise ValueError(f"no such stage: {', '.join(unknown)}; the stages are {', '.join(STAGES)}")
        if sum(weights.values()) == 0:
            raise ValueError("at least one stage must have a weight above 0")
        return weights


def _named_and_owned(waiver: Waiver) -> Waiver:
    names = ", ".join(waiver.checks)
    if "*" in names or not names:
        raise ValueError(f"a waiver names its checks one by one; this one says `{names}`")
    if not (waiver.reason.strip() and waiver.owner.strip()):
        raise ValueError(f"the waiver of `{names}` needs a reason and an owner")
    return waiver


class FileSettings(Model):
    """Everything a configuration file may say."""

    project: ProjectSettings = Field(default_factory=ProjectSettings)
    execution: ExecutionSettings = Field(default_factory=ExecutionSettings)
    static: StaticSettings = Field(default_factory=StaticSettings)
    requirements: RequirementsSettings = Field(default_factory=RequirementsSettings)
    performance: PerformanceSettings = Field(default_factory=PerformanceSettings)
    security: SecuritySettings = Field(default_factory=SecuritySettings)
    verdict: VerdictSettings = Field(default_factory=VerdictSettings)
    waivers: tuple[Annotated[Waiver, AfterValidator(_named_and_owned)], ...] = ()


class Settings(FileSettings):
    """The settings of one run: the file's, and where they were found."""

    root: Path
    """Absolute; every other path is relative to it."""
    config: str = ""
    """The configuration file relative to the root; empty where there is none."""
    today: dt.date
    """The day waivers are judged by."""
    policy_root: Path | None = None
    """Where the configuration, the specification and the models are read, where that is not the root: a copy of what
    stood at another revision."""
    models: tuple[ModelFile, ...] = ()
    """What `[static] models` names, as it was read."""

    def selection(self, paths: Iterable[str]) -> RuleSelection:
        """Which rules run, and for which versions of what the files at these paths, relative to the root, use: those
        that are set, else those that the tree allows. That is a fact of the code, and no part of the policy."""
        return self.static.selection._replace(allowed=versions_of_tree(paths, self.root), models=self.models)

    def gate_selection(self, paths: Iterable[str]) -> RuleSelection:
        """The same in the gate, which makes abstract runs unless that is switched off."""
        return self.selection(paths)._replace(abstract_run=self.static.abstract_run)

    @property
    def named_paths(self) -> tuple[str, ...]:
        """What the file names, relative to the root: all of it was there."""
        return tuple(path for _, path in _named(self) if path)

    @property
    def exclusion(self) -> Exclusion:
        """What is left out of the sources, by the patterns and the `.gitignore` files of the policy."""
        return Exclusion(self.project.exclude, self.policy_root, self.static.models)

    @property
    def policy_folder(self) -> Path:
        return self.policy_root or self.root

    @property
    def name(self) -> str:
        return self.project.name or self.root.name

    @property
    def sources(self) -> tuple[str, ...]:
        return self.project.sources or (".",)

    def labelled_as(self, other: Settings) -> Settings:
        """The same, for the project as the other settings name it."""
        labels = {each: getattr(other.project, each) for each in LABELS}
        return self.model_copy(update={"project": self.project.model_copy(update=labels)})

    def with_execution(self, **settings: bool | str) -> Settings:
        """The same, with other settings of `[execution]`, such as options of the command line give."""
        return self.model_copy(update={"execution": self.execution.model_copy(update=settings)})

    def with_program(self, program: Program) -> Settings:
        """The same, with a program that was found as the entry of the oracles."""
        oracles = self.execution.oracles.model_copy(update={program.setting: (program.command,)})
        return self.model_copy(update={"execution": self.execution.model_copy(update={"oracles": oracles})})

    def place(self, *setting: str) -> str | None:
        """`file:line` of a setting, for what turns out to be wrong with it later; None where there is no file."""
        if not self.config:
            return None
        file = self.policy_folder / self.config
        document = read_toml(file, self.config if self.policy_root else _shown(file, Path.cwd()))
        if file.name == "pyproject.toml":
            document = document.below("tool", "verifygate")
        return document.place(setting)

    @property
    def digest(self) -> str:
        """sha256 of everything that was set: not of where the project lies, what day it is, or what the code says."""
        return hashlib.sha256(self.model_dump_json(exclude={"root", "today", "policy_root"}).encode()).hexdigest()


def load(config: Path | None, start: Path) -> Settings:
    """Settings from `config`, or from the nearest configuration in `start` or above it, or from nothing at all.

    Raises UsageError, with file and line, for anything in the file that cannot be meant.
    """
    file = config if config is not None else find(start)
    today = dt.datetime.now(dt.UTC).date()
    if file is None:
        return Settings(root=start.resolve(), today=today)
    return read_settings(file, _shown(file, start), file.resolve().parent, today)


def read_settings(file: Path, shown: str, root: Path, today: dt.date) -> Settings:
    """The settings in `file` for the project at `root`; the file may be a copy from elsewhere, and errors call it
    `shown`. Raises UsageError."""
    document = read_toml(file, shown)
    if file.name == "pyproject.toml":
        document = document.below("tool", "verifygate")
    settings = document.validate(FileSettings)
    folder = file.resolve().parent
    _refuse_outside(document, settings, root, folder)
    models = read_model_files(settings.static.models, folder, shown.removesuffix(file.name), document.place(_MODELS))
    named = {name: getattr(settings, name) for name in FileSettings.model_fields}
    return Settings(
        root=root, config=file.name, today=today, policy_root=None if folder == root else folder, models=models, **named
    )


def _refuse_outside(document: Document, settings: FileSettings, root: Path, policy: Path) -> None:
    """Refuse paths that leave the root: what the gate reads must be part of what it reports on."""
    for where, path in _named(settings):
        folder = policy if where in (_SPEC, _MODELS) else root
        if not path or lies_in(folder, path):
            continue
        if "\0" in path:
            raise UsageError(f"{path!r} is no path", where=document.place(where), remedy="correct the path")
        if not (folder / path).resolve().is_relative_to(folder.resolve()):
            raise UsageError(
                f"`{path}` is outside the project's root", where=document.place(where), remedy="name a path below it"
            )
        raise UsageError(f"`{path}` does not exist", where=document.place(where), remedy="correct the path")


_SPEC = ("requirements", "spec")
_MODELS = ("static", "models")


def _named(settings: FileSettings) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every path that a file may name, with the setting that does."""
    for path in settings.project.sources:
        yield ("project", "sources"), path
    yield _SPEC, settings.requirements.spec
    for path in settings.static.models:
        yield _MODELS, path
    for index, each in enumerate(settings.requirements.junit):
        yield ("requirements", "junit", index, "file"), each.file


def _shown(file: Path, start: Path) -> str:
    """The path as a person at `start` would type it."""
    relative = os.path.relpath(file.resolve(), start.resolve())
    return file.as_posix() if relative.startswith("..") else Path(relative).as_posix()
