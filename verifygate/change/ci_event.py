"""What a CI job is about: the commit that its change is based on, from the event that started it.

The checkout of a job is no branch: it is a merge that nobody has made yet, a single commit without its history, or a
branch whose old tip is gone. An event that is not known here, and one whose base cannot be found, says so: what a
change brings is then not known, and not known is never green.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import read_regular
from verifygate.sources import git

MAX_PAYLOAD = 16 * 1024 * 1024
WHOLE = "no change is under review: the whole tree is judged"
HISTORY = "fetch the history: `fetch-depth: 0` of actions/checkout, `GIT_DEPTH: 0` of GitLab"
NAME_IT = "run it on an event that is listed in `verifygate docs adopting`, or name the base: `--since REV`"
HOLD_SECRETS = ("pull_request_target", "workflow_run")


@dataclass(frozen=True)
class Event:
    """A CI event, and what it says of the change."""

    name: str
    base: str = ""
    """The commit that the change began at; empty where there is no change, or it is not known."""
    how: str = ""
    """How that is known."""
    problem: str = ""
    """Why it is not known."""
    remedy: str = HISTORY

    @property
    def words(self) -> str:
        return f"{self.name}: {self.problem or self.how}"


def event_of(environment: Mapping[str, str], root: Path) -> Event:
    """The event of this job. Raises UsageError outside a repository, and where no code of a change may run."""
    git.top(root, "--ci")
    if environment.get("GITHUB_ACTIONS"):
        return _github(environment, root)
    if environment.get("GITLAB_CI"):
        return _gitlab(environment, root)
    problem = "neither GITHUB_ACTIONS nor GITLAB_CI is set"
    return Event("no CI event", problem=problem, remedy="name the base of the change: `--since REV`")


# --- GitHub


def _github(environment: Mapping[str, str], root: Path) -> Event:
    name = environment.get("GITHUB_EVENT_NAME", "")
    event = Event(f"GitHub {name}")
    if name in HOLD_SECRETS:
        raise UsageError(
            f"a job on `{name}` holds the repository's secrets: no code of a change is run there",
            where="--ci",
            remedy="run the gate on `pull_request`; a job on this event may post the report that it uploads",
        )
    if name in ("schedule", "workflow_dispatch", "release"):
        return replace(event, how=WHOLE)
    if name not in ("pull_request", "merge_group", "push"):
        return replace(event, problem="this event is not known", remedy=NAME_IT)
    payload = _payload(environment.get("GITHUB_EVENT_PATH", ""))
    if payload is None:
        return replace(event, problem="what GITHUB_EVENT_PATH names is no JSON object", remedy=NAME_IT)
    if name == "pull_request":
        return _pull_request(event, payload, environment.get("GITHUB_BASE_REF", ""), root)
    if name == "merge_group":
        base = _text(payload, "merge_group", "base_sha")
        return _based(event, root, base, "the base of the merge group")
    default = _text(payload, "repository", "default_branch")
    return _push(event, root, _text(payload, "ref"), _text(payload, "before"), _text(payload, "after"), default)


def _payload(path: str) -> dict[str, Any] | None:
    try:
        found = json.loads(read_regular(path, MAX_PAYLOAD))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _text(payload: Any, *keys: str) -> str:
    for key in keys:
        payload = payload.get(key) if isinstance(payload, dict) else None
    return payload if isinstance(payload, str) else ""


def _pull_request(event: Event, payload: dict[str, Any], branch: str, root: Path) -> Event:
    """The first parent of the merge that GitHub made is what was merged into: `base.sha` may be older."""
    head = _text(payload, "pull_request", "head", "sha")
    repositories = [_text(payload, "pull_request", side, "repo", "full_name") for side in ("head", "base")]
    if repositories[0] != repositories[1]:
        event = replace(event, name=f"{event.name} of a fork")
    commit, parents = git.head(root)
    if not head:
        return replace(event, problem="the event names no head commit", remedy=NAME_IT)
    if len(parents) == 2 and parents[1] == head:
        return _based(event, root, parents[0], "the first parent of the merge commit")
    if commit == head:
        names = (f"origin/{branch}", branch, _text(payload, "pull_request", "base", "sha"))
        known = next((each for each in names if each and git.common(root, each)), names[-1])
        return _based(event, root, known, f"where its head left `{known[:40]}`")
    return replace(
        event,
        problem="the checkout is neither the merge of the pull request nor its head",
        remedy="check out the default ref of the event, or name the base: `--since REV`",
    )


def _push(event: Event, root: Path, ref: str, before: str, after: str, default: str) -> Event:
    """What the branch was before; of a new branch, or one whose old tip is gone, where it left the default branch."""
    if ref.startswith("refs/tags/"):
        return replace(event, how=f"a tag; {WHOLE}")
    commit, _ = git.head(root)
    if not after or commit != after:
        return replace(event, problem="the checkout is not the commit that was pushed", remedy=NAME_IT)
    if before.strip("0") and git.common(root, before):
        return _based(event, root, before, "what the branch was before, or where it left that")
    why = "its old tip is not here" if before.strip("0") else "a new branch"
    if not default or ref == f"refs/heads/{default}":
        if before.strip("0"):
            return replace(event, problem=f"the default branch, and {why}")
        return replace(event, how=f"the first push of the default branch; {WHOLE}")
    return _based(event, root, f"origin/{default}", f"{why}: where it left `{default}`")


# --- GitLab


def _gitlab(environment: Mapping[str, str], root: Path) -> Event:
    source = environment.get("CI_PIPELINE_SOURCE", "")
    event = Event(f"GitLab {source}")
    if source == "merge_request_event":
        merged = environment.get("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", "")
        base = merged or environment.get("CI_MERGE_REQUEST_DIFF_BASE_SHA", "")
        how = "the target branch that it was merged into" if merged else "the base of its diff"
        return _based(event, root, base, how)
    if source in ("schedule", "web", "api", "trigger", "pipeline"):
        return replace(event, how=WHOLE)
    if source != "push":
        return replace(event, problem="this event is not known", remedy=NAME_IT)
    ref = f"refs/tags/{tag}" if (tag := environment.get("CI_COMMIT_TAG")) else environment.get("CI_COMMIT_BRANCH", "")
    branch = ref if tag else f"refs/heads/{ref}"
    before, after = environment.get("CI_COMMIT_BEFORE_SHA", ""), environment.get("CI_COMMIT_SHA", "")
    return _push(event, root, branch, before, after, environment.get("CI_DEFAULT_BRANCH", ""))


def _based(event: Event, root: Path, revision: str, how: str) -> Event:
    """The event with the commit that its tree and `revision` have in common."""
    if not revision:
        return replace(event, problem="the event names no base", remedy=NAME_IT)
    found = git.common(root, revision)
    if found is None:
        shallow = " of this shallow clone" if git.is_shallow(root) else ""
        return replace(event, problem=f"`{revision[:40]}` is not in the history{shallow}")
    return replace(event, base=found, how=how)
