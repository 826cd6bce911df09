"""The questions that a requirement may put to the evidence: one model for each kind, and `Query`, which is one of them.

What the code says is asked with `construct` and `rule`, what tests say with `test` and `marked_tests`, what a run did
with `run`, what was measured with `measurement`, what another stage concluded with `check`, and what a person has
signed with `review`.
"""

from __future__ import annotations

import datetime as dt
import re
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from verifygate.model import ConstructKind, Model
from verifygate.stage_registry import STAGES

TRACED_STAGES = tuple(name for name, entry in STAGES.items() if entry.evidence)
"""The stages whose checks a query may name."""
_BOUND = re.compile(r"(>=|<=) ?([0-9]+(?:\.[0-9]+)?)")
_DIGEST = re.compile(r"[0-9a-f]{12,64}")


class QueryKind(StrEnum):
    """What a query asks for: the one of these keys that it has."""

    CONSTRUCT = "construct"
    RULE = "rule"
    TEST = "test"
    MARKED_TESTS = "marked_tests"
    RUN = "run"
    MEASUREMENT = "measurement"
    CHECK = "check"
    REVIEW = "review"


class MarkedTests(Model):
    """`marked_tests:` the tests that carry `@pytest.mark.requirement("<this id>")`."""

    at_least: Annotated[int, Field(ge=1)] = 1
    """How many test functions there must be; every one of them must have run and passed."""


class RunEvent(StrEnum):
    """Something that a training run does with AMP."""

    AUTOCAST = "autocast"
    SCALE = "scale"
    BACKWARD = "backward"
    UNSCALE = "unscale"
    CLIP = "clip"
    STEP = "step"
    """The scaler's; the optimizer's own, without a scaler, is `optimizer-step`."""
    OPTIMIZER_STEP = "optimizer-step"
    UPDATE = "update"
    ZERO_GRAD = "zero-grad"
    GET_SCALE = "get-scale"
    STATE_SAVED = "scaler-state-saved"
    STATE_LOADED = "scaler-state-loaded"


ORDERED = (
    RunEvent.AUTOCAST,
    RunEvent.SCALE,
    RunEvent.BACKWARD,
    RunEvent.UNSCALE,
    RunEvent.CLIP,
    RunEvent.STEP,
    RunEvent.OPTIMIZER_STEP,
    RunEvent.UPDATE,
)
"""What `order` may name: the events whose place between a forward and the update the record keeps."""


class ScaleBehaviour(StrEnum):
    """What the loss scale does in a run."""

    HALVES = "halves on overflow"
    DOUBLES = "doubles again"


class Oracle(StrEnum):
    """A question that the oracles ask of what `[execution.oracles]` names; see `verifygate docs oracles`."""

    SCALE_INVARIANCE = "scale-invariance"
    INF_INJECTION = "inf-injection"
    SCHEDULE = "schedule"
    NAN_LOSS = "nan-loss"
    OVERFLOW_STREAK = "overflow-streak"
    NO_CUDA = "no-cuda"
    MPS_ONLY = "mps-only"
    HALF_PARAMETERS = "half-parameters"


class RunQuery(Model):
    """`run:` what the recorded tests, or an oracle's run, did: one of these, `device` and `with_scaler` aside."""

    order: Annotated[tuple[RunEvent, ...], Field(min_length=2)] | None = None
    """Audited code takes its steps in this order, at least once with all of these events and never otherwise."""
    with_scaler: bool | None = None
    """For `order`: whether it is about steps with a live scaler, or about those without; where it is not said, the
    events that `order` names tell."""
    events: Annotated[tuple[RunEvent, ...], Field(min_length=1)] | None = None
    """Audited code did each of these at least once."""
    dtype: Literal["float16", "bfloat16"] | None = None
    """Audited code entered an autocast region of this type."""
    device: Literal["cpu", "cuda", "mps", "xpu"] | None = None
    """The region's device, for `dtype`; an emulated CUDA counts as CUDA, with evidence of the class `emulated`."""
    parameters: Literal["float32"] | None = None
    """All that any optimizer stepped was of this type."""
    scale: ScaleBehaviour | None = None
    """What the loss scale did."""
    low_precision_share: str | None = None
    """Bound on the share of the matrix work, in FLOPs, that ran in float16 or bfloat16: `>= 0.5`."""
    oracle: Oracle | None = None
    """This oracle ran, and was satisfied."""

    @field_validator("low_precision_share")
    @classmethod
    def _is_a_bound(cls, text: str | None) -> str | None:
        found = _BOUND.fullmatch(text) if text is not None else None
        if text is not None and (found is None or float(found[2]) > 1):
            raise ValueError("write a bound on a share from 0 to 1, for example `>= 0.5`")
        return f"{found[1]} {float(found[2]):g}" if found else None

    @model_validator(mode="after")
    def _one_question(self) -> RunQuery:
        keys = [name for name in type(self).model_fields if name not in ("device", "with_scaler")]
        asked = [name for name in keys if getattr(self, name) is not None]
        if len(asked) != 1:
            said = f"this one has {' and '.join(asked)}" if asked else "this one has none"
            raise ValueError(f"`run` has exactly one of {', '.join(keys)}; {said}")
        if self.with_scaler is not None and not self.order:
            raise ValueError("`with_scaler` goes with `order` only")
        if self.device and not self.dtype:
            raise ValueError("`device` goes with `dtype` only")
        if strange := [event for event in self.order or () if event not in ORDERED]:
            raise ValueError(f"`order` consists of {', '.join(ORDERED)}; `{strange[0]}` is not one of them")
        if self.order and len(set(self.order)) < len(self.order):
            raise ValueError("`order` names an event twice")
        return self

    @property
    def words(self) -> str:
        if self.order:
            which = {None: "", True: " with a scaler", False: " without a scaler"}[self.with_scaler]
            return f"order {', '.join(self.order)}{which}"
        if self.events:
            return f"events {', '.join(self.events)}"
        if self.dtype:
            return f"dtype {self.dtype}" + (f" on {self.device}" if self.device else "")
        if self.parameters:
            return f"parameters {self.parameters}"
        if self.scale:
            return f"scale {self.scale}"
        if self.low_precision_share:
            return f"low-precision share {self.low_precision_share}"
        return f"oracle {self.oracle}"

    @property
    def bound(self) -> tuple[str, float]:
        """Operator and value of `low_precision_share`."""
        found = _BOUND.fullmatch(self.low_precision_share or "")
        assert found is not None  # noqa: S101 - it was validated
        return found[1], float(found[2])


class MeasurementQuery(Model):
    """`measurement:` a number that was measured: `speedup.*` alone, or its metric with a bound, a unit and a device."""

    id: str = ""
    """Id of the measurement, or a pattern; what `measurement: speedup.*` stands for."""
    metric: str = ""
    """What is measured, for example `speedup`; every measurement of it that was judged counts."""
    at_least: Annotated[float, Field(ge=0)] | None = None
    at_most: Annotated[float, Field(ge=0)] | None = None
    within: Annotated[float, Field(gt=0)] | None = None
    """Largest distance from zero, on either side."""
    unit: str = ""
    """The unit of the bound, for example `x`; a measurement in another one is no answer."""
    device: str = ""
    """`cpu`, `cuda`, `mps`, `accelerator` (anything but a CPU), or a pattern of the device's name, `NVIDIA H*`."""

    @model_validator(mode="before")
    @classmethod
    def _id_alone(cls, given: Any) -> Any:
        return {"id": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _one_number(self) -> MeasurementQuery:
        if bool(self.id.strip()) == bool(self.metric.strip()):
            raise ValueError("name the measurement, by its id or by `metric`")
        if sum(bound is not None for bound in (self.at_least, self.at_most, self.within)) > 1:
            raise ValueError("give one of at_least, at_most and within")
        if self.unit and self.bound is None:
            raise ValueError("`unit` goes with a bound: at_least, at_most or within")
        return self

    @property
    def bound(self) -> tuple[Literal[">=", "<=", "within +-"], float] | None:
        """Operator and value; None where the measurement's own target counts."""
        if self.at_least is not None:
            return ">=", self.at_least
        if self.at_most is not None:
            return "<=", self.at_most
        return None if self.within is None else ("within +-", self.within)

    @property
    def subject(self) -> str:
        """What is measured, whatever it is compared with."""
        return self.metric or self.id

    @property
    def words(self) -> str:
        parts = [self.subject]
        if self.bound:
            operator, value = self.bound
            parts.append(f"{operator}{'' if operator.endswith('-') else ' '}{value:g} {self.unit}".rstrip())
        if self.device:
            parts.append(f"on {self.device}")
        return " ".join(parts)


class ReviewQuery(Model):
    """`review:` the signed line of a person who looked. It is a declaration: shown as such, and never a proof."""

    by: str
    """Who signs."""
    date: dt.date
    said: str
    """What was looked at, and found."""
    of: str
    """What was reviewed: a file, or a function or class in it, `train.py::Trainer.step`."""
    digest: str = ""
    """Digest of it as it was reviewed, or its first 12 digits or more; where it differs, the report says the present
    one. A file's is its sha256; a symbol's is that of its syntax, which formatting and comments leave alone."""
    commit: str = ""
    """The commit at which it was reviewed, in place of `digest`."""
    until: dt.date | None = None
    """The last day on which the review counts."""

    @field_validator("by", "said", "of")
    @classmethod
    def _said(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("it is empty")
        return text.strip()

    @model_validator(mode="after")
    def _of_something(self) -> ReviewQuery:
        if bool(self.digest) == bool(self.commit):
            raise ValueError("say what was reviewed: the `digest`, or a `commit`")
        if self.digest and not _DIGEST.fullmatch(self.digest):
            raise ValueError("`digest` is 12 to 64 hexadecimal digits")
        if self.until and self.until < self.date:
            raise ValueError("`until` is before `date`")
        return self

    @property
    def words(self) -> str:
        return f"of {self.of} by {self.by} on {self.date}"


class Query(Model):
    """One question about the evidence; it has exactly one of the keys `QueryKind` names."""

    code: ConstructKind | None = Field(default=None, alias="construct")
    """This AMP code stands in the sources. Test files count only where `in` names them, as in `tests/*`."""
    rule: str | None = None
    """This rule ran and found nothing."""
    test: str | None = None
    """This test ran and passed: an id, the beginning of ids up to `::`, `[` or `/`, or a pattern with `*` and `?`."""
    marked_tests: MarkedTests | None = None
    run: RunQuery | None = None
    measurement: MeasurementQuery | None = None
    check: str | None = None
    """This check of another stage passed, for example `performance.speedup`."""
    review: ReviewQuery | None = None
    within: str | None = Field(default=None, alias="in")
    """Pattern of paths that narrows `construct` or `rule`; `*` matches `/` as well."""
    absent: bool = Field(default=False, alias="not")
    """Turns `construct` round: it must stand nowhere."""

    @field_validator("rule", "test", "check", "within")
    @classmethod
    def _not_empty(cls, text: str | None) -> str | None:
        if text is not None and not text.strip():
            raise ValueError("it is empty")
        return text

    @field_validator("rule")
    @classmethod
    def _a_code(cls, rule: str | None) -> str | None:
        if rule is not None and not re.fullmatch(r"[A-Z]+[0-9]+", rule):
            raise ValueError("give the rule's code, for example AMP201")
        return rule

    @field_validator("check")
    @classmethod
    def _of_an_earlier_stage(cls, check: str | None) -> str | None:
        if check is not None and check.partition(".")[0] not in TRACED_STAGES:
            raise ValueError(f"a check is named `stage.name`, and the stage is one of {', '.join(TRACED_STAGES)}")
        return check

    @model_validator(mode="after")
    def _one_question(self) -> Query:
        asked = list(self._asked())
        if len(asked) != 1:
            said = f"this one has {' and '.join(asked)}" if asked else "this one has none"
            raise ValueError(f"a query has exactly one of {', '.join(QueryKind)}; {said}")
        if self.absent and self.kind is not QueryKind.CONSTRUCT:
            raise ValueError("`not` goes with `construct` only")
        if self.within and self.kind not in (QueryKind.CONSTRUCT, QueryKind.RULE):
            raise ValueError("`in` goes with `construct` and `rule` only")
        return self

    def _asked(self) -> dict[QueryKind, str]:
        """What is asked for under each key that is there, in words."""
        said = {
            QueryKind.CONSTRUCT: self.code.value if self.code else None,
            QueryKind.RULE: self.rule,
            QueryKind.TEST: self.test,
            QueryKind.MARKED_TESTS: f"at least {self.marked_tests.at_least}" if self.marked_tests else None,
            QueryKind.RUN: self.run.words if self.run else None,
            QueryKind.MEASUREMENT: self.measurement.words if self.measurement else None,
            QueryKind.CHECK: self.check,
            QueryKind.REVIEW: self.review.words if self.review else None,
        }
        return {kind: text for kind, text in said.items() if text is not None}

    @property
    def kind(self) -> QueryKind:
        return next(iter(self._asked()))

    @property
    def words(self) -> str:
        """The query as a report shows it, for example `construct grad-scaler in reference_impl/*`."""
        kind, asked = next(iter(self._asked().items()))
        where = f" in {self.within}" if self.within else ""
        return f"{'no ' if self.absent else ''}{kind.value.replace('_', ' ')} {asked}{where}"
