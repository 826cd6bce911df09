"""The events of CI jobs, each in a checkout as the job has it, with the job's environment."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verifygate.cli import main

NOTHING = "0" * 40
RUN = ["run", "--stage", "static", "--ci"]


@pytest.fixture(autouse=True)
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job that runs these tests is none of theirs."""
    for name in list(os.environ):
        if name.startswith(("GITHUB_", "CI_", "GITLAB_")):
            monkeypatch.delenv(name)


class Forge:
    """A repository on a server, with jobs that check it out."""

    def __init__(self, server: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server, self._folder, self._patch = server, folder, monkeypatch

    def job(self, ref: str, depth: int | None = None) -> None:
        """Check a ref out as actions/checkout does: detached, and shallow where a depth is given."""
        work = self._folder / f"job{len(list(self._folder.iterdir()))}"
        work.mkdir()
        url = f"file://{self.server.folder}"
        shallow = [f"--depth={depth}"] if depth else []
        refs = [f"{ref}:refs/heads/job"] if depth else [f"{ref}:refs/heads/job", "refs/heads/*:refs/remotes/origin/*"]
        for command in (["init", "-q"], ["fetch", "-q", *shallow, url, *refs], ["checkout", "-q", "--detach", "job"]):
            subprocess.run(["git", "-C", str(work), *command], check=True, capture_output=True)
        self._patch.chdir(work)

    def github(self, event: str, **payload: Any) -> None:
        file = self._folder / "event.json"
        file.write_text(json.dumps(payload), encoding="utf-8")
        values = {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": str(file)}
        for name, value in values.items():
            self._patch.setenv(name, value)

    def gitlab(self, source: str, **values: str) -> None:
        for name, value in {"GITLAB_CI": "true", "CI_PIPELINE_SOURCE": source, **values}.items():
            self._patch.setenv(name, value)

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(Path("reports/latest/report.json").read_text(encoding="utf-8"))
        return found

    @property
    def against(self) -> str:
        """The commit that the run compared with; empty for none."""
        changes = self.report["changes"]
        return str(changes["against"]).rpartition(" ")[2] if changes else ""


@pytest.fixture
def forge(repository: Any, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Forge:
    """`main` has an old fault; `change` left it and brings a note; `main` went on."""
    repository.git("checkout", "-qb", "change")
    repository.commit(NOTES__md="a note\n")
    repository.git("checkout", "-q", "main")
    repository.commit(later__py="import torch\n")
    return Forge(repository, tmp_path_factory.mktemp("jobs"), monkeypatch)


def sha(forge: Forge, name: str) -> str:
    return str(forge.server.git("rev-parse", name))


def merge(forge: Forge) -> str:
    """The merge ref that the server makes of the branch and the base."""
    git = forge.server.git
    git("checkout", "-q", "--detach", "main")
    git("merge", "-q", "--no-ff", "-m", "merge", "change")
    git("update-ref", "refs/pull/1/merge", "HEAD")
    git("checkout", "-q", "main")
    return sha(forge, "refs/pull/1/merge")


def pull_request(forge: Forge, repository: str = "us/it") -> dict[str, Any]:
    head = {"sha": sha(forge, "change"), "repo": {"full_name": repository}}
    old = {"sha": sha(forge, "main~1"), "repo": {"full_name": "us/it"}}
    return {"pull_request": {"head": head, "base": old}}


@pytest.mark.parametrize("owner", ["us/it", "them/it"], ids=["pull request", "fork"])
@pytest.mark.parametrize("depth", [None, 2], ids=["whole", "depth 2"])
def test_the_merge_ref_is_compared_with_its_first_parent(
    forge: Forge, owner: str, depth: int | None, capsys: pytest.CaptureFixture[str]
):
    """Not with `base.sha` of the event, which is older: what came to the base meanwhile is no change of the branch."""
    merge(forge)
    forge.job("refs/pull/1/merge", depth)
    forge.github("pull_request", **pull_request(forge, owner))

    assert main(RUN) == 0
    assert forge.against == sha(forge, "main")
    told = capsys.readouterr().out
    assert "the first parent of the merge commit" in told
    assert ("of a fork" in told) is (owner != "us/it")


def test_a_shallow_clone_without_the_parent_is_not_measured(forge: Forge, capsys: pytest.CaptureFixture[str]):
    merge(forge)
    forge.job("refs/pull/1/merge", 1)
    forge.github("pull_request", **pull_request(forge))

    assert main(RUN) == 1
    assert "NOT MEASURED: what this change brings" in (told := capsys.readouterr().out)
    assert "is not in the history of this shallow clone" in told
    assert "fetch-depth: 0" in told
    assert [each["condition"] for each in forge.report["reasons"]] == ["finding", "not-measured"]


def test_the_head_of_a_pull_request_is_compared_with_where_it_left(forge: Forge, monkeypatch: pytest.MonkeyPatch):
    forge.job("refs/heads/change")
    forge.github("pull_request", **pull_request(forge))
    monkeypatch.setenv("GITHUB_BASE_REF", "main")

    assert main(RUN) == 0
    assert forge.against == sha(forge, "main~1")


def test_another_checkout_than_the_event_speaks_of_is_not_measured(forge: Forge):
    forge.job("refs/heads/main")
    forge.github("pull_request", **pull_request(forge))

    assert main(RUN) == 1


def test_a_merge_group_is_compared_with_its_base(forge: Forge):
    merge(forge)
    forge.job("refs/pull/1/merge")
    forge.github("merge_group", merge_group={"base_sha": sha(forge, "main"), "head_sha": "x"})

    assert main(RUN) == 0
    assert forge.against == sha(forge, "main")


def pushed(forge: Forge, ref: str, before: str, after: str) -> None:
    forge.github("push", ref=ref, before=before, after=after, repository={"default_branch": "main"})


def test_a_push_is_compared_with_what_the_branch_was(forge: Forge):
    forge.job("refs/heads/main")
    pushed(forge, "refs/heads/main", sha(forge, "main~1"), sha(forge, "main"))

    assert main(RUN) == 0
    assert forge.against == sha(forge, "main~1")


def test_a_squash_is_a_push_of_one_commit(forge: Forge):
    before = sha(forge, "main")
    forge.server.git("merge", "-q", "--squash", "change")
    after = forge.server.commit()
    forge.job("refs/heads/main")
    pushed(forge, "refs/heads/main", before, after)

    assert main(RUN) == 0
    assert forge.against == before


@pytest.mark.parametrize("there", [True, False], ids=["old tip there", "old tip gone"])
def test_a_rebase_is_compared_with_where_the_branch_leaves(forge: Forge, there: bool):
    """The branch's old tip is no ancestor, and often not in the clone."""
    old = sha(forge, "change")
    if there:
        forge.server.git("branch", "kept", "change")
    forge.server.git("checkout", "-q", "change")
    forge.server.git("rebase", "-q", "main")
    if not there:
        old = old[::-1]
    forge.job("refs/heads/change")
    pushed(forge, "refs/heads/change", old, sha(forge, "change"))

    assert main(RUN) == 0
    assert forge.against == sha(forge, "main~1" if there else "main")


def test_a_new_branch_is_compared_with_where_it_left_the_default_branch(forge: Forge):
    forge.job("refs/heads/change")
    pushed(forge, "refs/heads/change", NOTHING, sha(forge, "change"))

    assert main(RUN) == 0
    assert forge.against == sha(forge, "main~1")


@pytest.mark.parametrize("event", ["schedule", "workflow_dispatch", "release"])
def test_without_a_change_the_whole_is_judged(forge: Forge, event: str, capsys: pytest.CaptureFixture[str]):
    forge.job("refs/heads/main")
    forge.github(event)

    assert main(RUN) == 1
    assert "no change is under review: the whole tree is judged" in capsys.readouterr().out
    assert [each["condition"] for each in forge.report["reasons"]] == ["finding"]


def test_a_tag_is_judged_whole(forge: Forge):
    forge.job("refs/heads/main")
    pushed(forge, "refs/tags/v1", NOTHING, sha(forge, "main"))

    assert main(RUN) == 1
    assert forge.report["changes"] is None


def made_sound(forge: Forge) -> None:
    """With the fault taken out, and AMP code left to judge: a tree without any is no PASS."""
    faulty = (forge.server.folder / "old.py").read_text(encoding="utf-8")
    sound = faulty.replace("        torch.nn", "        scaler.unscale_(optimizer)\n        torch.nn")
    assert sound != faulty
    forge.server.commit(old__py=sound)
    forge.job("refs/heads/main")


@pytest.mark.parametrize(
    "start",
    [
        lambda forge: forge.github("issue_comment"),
        lambda forge: forge.github("pull_request"),
        lambda forge: forge.github("push", ref="refs/heads/main", before=NOTHING, after="elsewhere"),
        lambda forge: forge.github("merge_group", merge_group={"base_sha": "1" * 40}),
        lambda forge: forge.gitlab("external_pull_request_event"),
        lambda forge: forge.gitlab("merge_request_event"),
        lambda _forge: None,
    ],
    ids=["unknown", "empty payload", "other checkout", "base not there", "unknown to GitLab", "no base", "no job"],
)
def test_what_is_not_known_is_never_green(
    forge: Forge, start: Callable[[Forge], None], capsys: pytest.CaptureFixture[str]
):
    """The tree has no fault at all, and still nobody knows what the change is."""
    made_sound(forge)
    assert main([*RUN[:-1]]) == 0
    start(forge)
    capsys.readouterr()

    assert main(RUN) == 1
    assert capsys.readouterr().out.startswith("BLOCK ")
    assert [each["condition"] for each in forge.report["reasons"]] == ["not-measured"]


def test_an_event_file_that_cannot_be_read_is_not_green(forge: Forge, monkeypatch: pytest.MonkeyPatch):
    made_sound(forge)
    forge.github("push")
    for path in ("", "no/such/file"):
        monkeypatch.setenv("GITHUB_EVENT_PATH", path)
        assert main(RUN) == 1
    Path("bad.json").write_text("[1", encoding="utf-8")
    monkeypatch.setenv("GITHUB_EVENT_PATH", "bad.json")
    assert main(RUN) == 1


@pytest.mark.parametrize("event", ["pull_request_target", "workflow_run"])
def test_no_code_of_a_change_runs_beside_secrets(forge: Forge, event: str, capsys: pytest.CaptureFixture[str]):
    made_sound(forge)
    forge.github(event)

    assert main(RUN) == 2
    assert "no code of a change is run there" in capsys.readouterr().err


def test_gitlab(forge: Forge):
    """A merge request, its merged result, and a push."""
    merge(forge)
    forge.job("refs/heads/change")
    forge.gitlab("merge_request_event", CI_MERGE_REQUEST_DIFF_BASE_SHA=sha(forge, "main~1"))
    assert main(RUN) == 0
    assert forge.against == sha(forge, "main~1")
    forge.job("refs/pull/1/merge")
    forge.gitlab("merge_request_event", CI_MERGE_REQUEST_TARGET_BRANCH_SHA=sha(forge, "main"))
    assert main(RUN) == 0
    assert forge.against == sha(forge, "main")
    forge.job("refs/heads/main")
    shas = {"CI_COMMIT_BEFORE_SHA": sha(forge, "main~1"), "CI_COMMIT_SHA": sha(forge, "main")}
    forge.gitlab("push", CI_COMMIT_BRANCH="main", CI_DEFAULT_BRANCH="main", **shas)
    assert main(RUN) == 0
    assert forge.against == sha(forge, "main~1")


def test_two_bases_are_one_too_many(forge: Forge, capsys: pytest.CaptureFixture[str]):
    assert main([*RUN, "--since", "main"]) == 2
    assert "--ci and --since both name the base" in capsys.readouterr().err
