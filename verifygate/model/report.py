"""The report: what was found, the verdict on it, the arithmetic behind the score, and where it all came from."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import Field

from verifygate.base.strict_json import parsed
from verifygate.model.background import Background, Impact
from verifygate.model.base import Model, Points, volatile_pointers
from verifygate.model.check_report import SCHEMA_VERSION
from verifygate.model.contradiction import Contradiction
from verifygate.model.finding import Finding
from verifygate.model.json_document import put, take, text_of
from verifygate.model.mutation import MutationReport
from verifygate.model.past_run import PastRun
from verifygate.model.policy import Advisory, BaselineUse, PolicyOrigin, PolicySetting, WaiverUse
from verifygate.model.program import Program
from verifygate.model.stage_result import ScorePart, StageResult, Verdict


class OtherSchemaError(ValueError):
    """A document of another schema version than this program's."""

    def __init__(self, version: object, tool: object) -> None:
        self.version, self.tool = version, tool
        super().__init__(f"schema version {version!r}")


class Reason(Model):
    """One named condition that makes the verdict BLOCK, with the line to look at and what to do."""

    condition: str
    """For example `finding`, `check-failed`, `not-measured`, `stage-errored`, `not-analysed`, `nothing-ran`."""
    stage: str
    text: str
    path: str | None = None
    line: int | None = None
    action: str = ""
    check: str = ""
    """Id of the check, where the condition is about one; the number it measured is looked up there."""
    finding: str = ""
    """Fingerprint of the finding, where the condition is about one."""


class Provenance(Model):
    """The inputs of the run: the same provenance and the same machine give the same report."""

    tool_version: str
    commit: str
    """The revision, with `+changes` where the working tree differs from it; `none` outside a repository."""
    tree_digest: str
    """sha256 over path and content of every source file audited."""
    settings_digest: str
    config: str
    """The configuration file, relative to the root; `none (discovered)` where there is none."""
    folder: str = ""
    """The way from the root of the repository to the project's root; empty where they are one, or there is none."""
    versions: dict[str, str] = Field(default_factory=dict)


class Run(Model):
    """What merely happened: the only part in which two runs with the same inputs may differ."""

    command: str
    started: str
    """UTC, ISO 8601, whole seconds."""
    seconds: float
    links: str = "../../"
    """The way from the folder of the reports to the project's root."""
    permalink: str = ""
    """The address of the repository's files at the audited commit, on the web; empty where it is not known."""
    history: tuple[PastRun, ...] = ()
    """The last runs and this one, the oldest first, where `--history` was given."""
    measured: dict[str, Any] = Field(default_factory=dict)
    """JSON pointer -> value of every volatile field; filled when the report is written."""
    seal: str = ""
    """sha256 over all the rest of the document; filled when the report is written, and an edit by hand breaks it. It is
    no signature: whoever knows how can seal an edited report anew."""


class Changes(Model):
    """What became of the findings of an earlier report."""

    against: str
    """Revision and time of the earlier report."""
    new: tuple[Finding, ...] = ()
    open: tuple[Finding, ...] = ()
    fixed: tuple[Finding, ...] = ()
    cannot_tell: tuple[Finding, ...] = ()
    """Gone, but perhaps only out of sight: of a stage that did not complete, or of code that no run reached now."""
    newly_reached: tuple[Finding, ...] = ()
    """What a run showed of code that no run of the earlier report reached: it may have been there before."""
    removed: tuple[Finding, ...] = ()
    """Gone with the file that it was in: nobody mended it."""

    precision: tuple[str, ...] = ()
    """What differs in the precision contract: `reduction: float32 -> bfloat16, config.yaml:14`; and in the versions
    that files run on: `torch in src: >=2.5 -> 2.1`."""
    suppressed: tuple[str, ...] = ()
    """Suppressions that were added: `train.py:8: AMP201: reason`."""
    renamed: tuple[str, ...] = ()
    """Files that have another path now: `train.py -> src/train.py`."""

    def groups(self) -> tuple[tuple[str, tuple[Finding, ...]], ...]:
        return (
            ("new", self.new),
            ("newly reached", self.newly_reached),
            ("open", self.open),
            ("fixed", self.fixed),
            ("removed with the file", self.removed),
            ("cannot tell", self.cannot_tell),
        )


class Report(Model):
    schema_version: int = SCHEMA_VERSION
    project: str
    task: str = ""
    version: str = ""
    verdict: Verdict
    score: Points | None
    """0.00 to 100.00: the sum of what the parts earned; null where no check counts."""
    reasons: tuple[Reason, ...]
    stages: tuple[StageResult, ...]
    parts: tuple[ScorePart, ...]
    waivers: tuple[WaiverUse, ...]
    contradictions: tuple[Contradiction, ...] = ()
    """Where two statements of this run cannot both hold, and which one counts."""
    changes: Changes | None = None
    """Against an earlier report, where one was given."""
    impacts: tuple[Impact, ...] = ()
    """Of the rules that the findings of this report are of."""
    backgrounds: tuple[Background, ...] = ()
    """Of the worst findings."""
    policy: tuple[PolicySetting, ...] = ()
    """What blocks, how points are shared out, and which rules and files are left out."""
    policy_origin: PolicyOrigin | None = None
    """Where the policy was read from another revision, or was asked for: what a change under review alters in it."""
    baseline: BaselineUse | None = None
    """Where a baseline file is configured: what it holds, and what of that was found."""
    event: str = ""
    """The CI event that the run was about, and what it says of the change, in words."""
    advisory: Advisory | None = None
    """Where the configuration lets a BLOCK end with exit code 0 up to a day."""
    mutation: MutationReport | None = None
    """Where `--mutate` was given: who noticed code that was broken on purpose. The verdict does not look at it."""
    programs: tuple[Program, ...] = ()
    """What trains and can be started, best first: looked for where no training step was executed, or where
    `--entries found` asked for it. Nothing of it is started but for that."""
    training_functions: tuple[str, ...] = ()
    """Where such a program was looked for and there is none: the functions that hold a training step."""
    provenance: Provenance
    run: Run

    def to_json(self) -> str:
        """Serialise; everything volatile moves into `run.measured`, so the rest is the same bytes every time."""
        document = self.model_dump(mode="json")
        document["run"]["measured"] = {pointer: take(document, pointer) for pointer in volatile_pointers(self)}
        document["run"]["seal"] = seal_of(document)
        return text_of(document)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Read back what `to_json` wrote. Raises ValueError (pydantic's, or DocumentError) for anything else."""
        document = parsed(text)
        if isinstance(document, dict) and document.get("schema_version", SCHEMA_VERSION) != SCHEMA_VERSION:
            made = document.get("provenance")
            tool = made.get("tool_version") if isinstance(made, dict) else None
            raise OtherSchemaError(document["schema_version"], tool)
        try:
            for pointer, value in document["run"]["measured"].items():
                put(document, pointer, value)
            document["run"] |= {"measured": {}, "seal": ""}
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ValueError(f"run.measured does not fit the report: {error!r}") from error
        return cls.model_validate(document)


def seal_of(document: dict[str, Any]) -> str:
    """The seal that a report's JSON document should carry; what seal it does carry is left out of it."""
    rest = {**document, "run": {key: value for key, value in document["run"].items() if key != "seal"}}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
