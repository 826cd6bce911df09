"""What a verdict is given by: settings, waivers, and the revision that they come from."""

from __future__ import annotations

import datetime as dt
from enum import StrEnum

from verifygate.model.base import Model


class Waiver(Model):
    """Permission, with an owner and an end, to pass although required checks were not measured or only partly met."""

    checks: tuple[str, ...]
    """Ids of the checks it covers, each named outright."""
    reason: str
    owner: str
    expires: dt.date


class WaiverState(StrEnum):
    IN_FORCE = "in force"
    EXPIRED = "expired"
    UNUSED = "unused"
    """Every check it names passes, or does not exist: it can go."""
    CANNOT_APPLY = "cannot apply"
    """What does not pass of the checks it names is FAIL, and nothing waives a failure."""


class WaiverUse(Model):
    waiver: Waiver
    state: WaiverState


class PolicySetting(Model):
    """One setting that the verdict depends on, beside what it is where nobody sets it."""

    key: str
    """As in the configuration: `verdict.block`."""
    value: str
    default: str

    @property
    def is_default(self) -> bool:
        return self.value == self.default


class PolicyDifference(Model):
    """A setting, a waiver or a requirement that a change under review alters."""

    key: str
    """`performance.targets.speedup`, `waiver of performance.speedup`, `requirement BUS-01: severity`."""
    here: str
    """As the change has it."""
    there: str
    """As it stands at the revision that the policy is read from."""


class PolicyState(StrEnum):
    BASE = "that of the revision"
    """What the change alters takes effect once it is merged."""
    ACCEPTED = "that of the change"
    """Somebody asked for it: `--accept-policy`."""


class PolicyOrigin(Model):
    """From which revision the policy is: configuration, specification, waivers and baseline."""

    commit: str
    asked: str
    """The option that named the revision: `--since main`."""
    state: PolicyState
    config: str
    """The configuration at that revision; empty where there is none, and the default policy is in force."""
    differences: tuple[PolicyDifference, ...] = ()


class BaselineUse(Model):
    """The baseline file in force, and what of it this run found."""

    file: str
    entries: int
    held: tuple[str, ...] = ()
    """Fingerprints of what was found and is in it: reported, and not blocking."""
    stale: tuple[str, ...] = ()
    """Entries whose findings are gone, in words."""


class Advisory(Model):
    """A time in which a BLOCK is printed and the exit code is 0."""

    until: dt.date
    """Its last day."""
    in_force: bool
