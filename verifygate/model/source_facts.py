"""What the static analysis notes of the source besides findings: records of the standard library, as findings are."""

from __future__ import annotations

from enum import StrEnum

from verifygate.base.records import record


class ConstructKind(StrEnum):
    """What a piece of AMP code does."""

    GRAD_SCALER = "grad-scaler"
    AUTOCAST = "autocast"
    SCALE = "scale"
    BACKWARD = "backward"
    UNSCALE = "unscale"
    CLIP = "clip"
    SCALER_STEP = "scaler-step"
    OPTIMIZER_STEP = "optimizer-step"
    UPDATE = "update"
    ZERO_GRAD = "zero-grad"
    GET_SCALE = "get-scale"
    STATE_SAVED = "scaler-state-saved"
    STATE_LOADED = "scaler-state-loaded"
    DELEGATED = "delegated-precision"
    """Lightning `precision=`, Accelerate, Hugging Face `fp16=`: a framework does AMP."""
    PASSIVE_SCALE = "passive-scale-reading"
    """The loss scale read through `getattr(..., None)` in a row, or with every error swallowed: it fails in silence."""


@record(kw_only=True, guarded=True)
class Construct:
    """A place where AMP code stands."""

    __pydantic_config__ = {"extra": "forbid"}

    kind: ConstructKind
    path: str
    line: int
    symbol: str
    text: str
    callee: str = ""
    """Qualified name of what is called, where the kind is told by it: `lightning.pytorch.Trainer`."""
    note: str = ""
    """What the analysis has to say of it."""


@record(kw_only=True, guarded=True)
class LeftOut:
    """Python files and notebooks that one pattern kept from being read."""

    __pydantic_config__ = {"extra": "forbid"}

    rule: str
    """`.gitignore:3: /outputs/`, or `[project] exclude: /legacy/`."""
    files: int
    examples: tuple[str, ...]
    """The first paths, in order."""


@record(kw_only=True, guarded=True)
class NotAnalysed:
    """A file that could not be read as Python."""

    __pydantic_config__ = {"extra": "forbid"}

    path: str
    reason: str
    mentions_amp: bool
    """Whether it names AMP, or may train for another reason: a command starts it, a merge left it unfinished."""


@record(kw_only=True, guarded=True)
class NotFollowed:
    """A place where the analysis gave up, and why: a silent gap would cost more than a listed one."""

    __pydantic_config__ = {"extra": "forbid"}

    path: str
    line: int
    reason: str
    rule: str = ""
    """The rule that gave up; empty where the order of the protocol's events could not be followed."""
    construct: ConstructKind | None = None
    """The piece of AMP code that it would be, were it known what object it is called on."""
    whole: bool = False
    """A whole function was given up: the rule, or every rule about the order of events, is not measured there."""

    def leaves_open(self, code: str, by_paths: bool) -> bool:
        """Whether a rule is not measured there; `by_paths`: it is about the order of events."""
        return self.whole and (self.rule == code or (by_paths and not self.rule))


@record(kw_only=True, guarded=True)
class Suppression:
    __pydantic_config__ = {"extra": "forbid"}

    path: str
    line: int
    """Of the comment."""
    rule: str
    reason: str
    finding: str
    """What it silences; empty for nothing."""
    covers: int = 0
    """The line of code that the comment is about; 0 where it silences a finding of the source, which names its own."""
    severity: str = ""
    """Of the certain finding that a comment silences; empty where it is likely, or the configuration silences it."""
    fingerprint: str = ""
    """Of that finding."""
