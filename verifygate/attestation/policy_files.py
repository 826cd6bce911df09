"""The files that a verdict was given by, with their digests: read from the commit that the report names, from no tree.

A working tree may have moved on since the run; a commit cannot.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from verifygate.model import PolicyState, Report, RequirementsDetails
from verifygate.sources import git
from verifygate.sources.repository import folder_in_repository

NO_CONFIG = "none"


@dataclass(frozen=True)
class PolicyFile:
    """A file of the policy, as it stands in a commit."""

    name: str
    """From the project's root."""
    sha256: str
    commit: str


def policy_files(report: Report, root: Path) -> tuple[PolicyFile, ...]:
    """Configuration, specification, baseline and models of a run, from the repository at `root`.

    Empty where that has no such commit, or where the run judged by files that are in no commit.
    """
    commit, config = _origin(report)
    if not commit or folder_in_repository(root) != report.provenance.folder:
        return ()
    details = [each.details for each in report.stages if isinstance(each.details, RequirementsDetails)]
    models = [each.value for each in report.policy if each.key == "static.models" and each.value != each.default]
    names = [config, *(each.spec for each in details), report.baseline.file if report.baseline else ""]
    names += [name for each in models for name in each.split(", ")]
    found = []
    for name in dict.fromkeys(filter(None, names)):
        data = git.file_at(root, commit, name)
        if data is not None:
            found.append(PolicyFile(name, hashlib.sha256(data).hexdigest(), commit))
    return tuple(found)


def commit_of(report: Report) -> str:
    """The commit whose files were audited; empty where they are not those of any."""
    commit = report.provenance.commit
    return "" if commit == NO_CONFIG or "+" in commit else commit


def _origin(report: Report) -> tuple[str, str]:
    """The commit that the policy was read from, empty where it was none, and its configuration, empty likewise."""
    origin = report.policy_origin
    if origin is not None and origin.state is PolicyState.BASE:
        return origin.commit, origin.config
    config = report.provenance.config
    return commit_of(report), "" if config.startswith(NO_CONFIG) else config
