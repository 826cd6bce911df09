"""Which CI runs this, for which event, and which branch a change is to be merged into."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Event(NamedTuple):
    """What a CI system says of itself in the environment."""

    system: str
    """Empty where no CI is known to run this."""
    name: str = ""
    base: str = ""
    """The branch that a change is to be merged into; empty where the event is no change."""
    revisions: tuple[str, ...] = ()
    """How git may name that branch here."""


def event(environment: Mapping[str, str]) -> Event:
    """The event of GitHub Actions or GitLab CI; of other systems only that they run."""
    if environment.get("GITHUB_ACTIONS") == "true":
        base = environment.get("GITHUB_BASE_REF", "")
        return Event("GitHub Actions", environment.get("GITHUB_EVENT_NAME", ""), base, _named(base))
    if environment.get("GITLAB_CI") == "true":
        base = environment.get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "")
        commit = environment.get("CI_MERGE_REQUEST_DIFF_BASE_SHA", "")
        revisions = ((commit,) if commit else ()) + _named(base)
        return Event("GitLab CI", environment.get("CI_PIPELINE_SOURCE", ""), base, revisions)
    return Event("CI" if environment.get("CI", "").lower() in ("1", "true") else "")


def _named(branch: str) -> tuple[str, ...]:
    return (f"origin/{branch}", branch) if branch else ()
