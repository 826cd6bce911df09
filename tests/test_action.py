"""The action, and the workflow that `verifygate init` writes, as a stranger's repository runs them: their own shell
steps, in a clone with the event's environment."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from workflow_steps import Ended, Runner, commit, git

from verifygate import __version__
from verifygate.base.distribution import DISTRIBUTION
from verifygate.cli import main

ROOT = Path(__file__).parent.parent
PROGRAMS = Path(sys.executable).parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
INPUTS = {name: each["default"] for name, each in ACTION["inputs"].items()}
STEPS = ACTION["runs"]["steps"]
SOUND = """\
import torch


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
FAULTY = SOUND.replace("        scaler.unscale_(optimizer)\n", "")


def on_path(folder: Path, name: str, script: str) -> str:
    """A program that is found first."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(script, encoding="utf-8")
    (folder / name).chmod(0o755)
    return f"{folder}:{PROGRAMS}:/usr/bin:/bin"


class Clone:
    """A clone of a repository whose main has a fault already, as a runner has it after the checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.temp = folder / "clone", folder / "runner"
        origin = folder / "origin"
        origin.mkdir(parents=True)
        git(origin, "init", "-q", "-b", "main")
        self.main = commit(origin, {"old.py": FAULTY, "README.md": "# A project\n"})
        self.origin, self.head = origin, self.main
        git(folder, "clone", "-q", str(origin), str(self.folder))

    def change(self, files: Mapping[str, str]) -> None:
        """A commit on a branch, merged with main and detached, as a pull request is checked out."""
        git(self.folder, "checkout", "-q", "-B", "topic", "origin/main")
        self.head = commit(self.folder, files)
        git(self.folder, "checkout", "-q", "--detach", "origin/main")
        git(self.folder, "merge", "-q", "--no-ff", "-m", "merge", "topic")

    def payload(self, name: str) -> dict[str, Any]:
        """What the service writes about the event, as far as it is read."""
        repository = {"full_name": "someone/project"}
        pull = {"number": 7, "head": {"sha": self.head, "repo": repository}, "base": {"repo": repository}}
        return {
            "pull_request": {"pull_request": pull},
            "merge_group": {"merge_group": {"base_sha": self.main}},
            "push": {"ref": "refs/heads/main", "before": self.main, "after": git(self.folder, "rev-parse", "HEAD")},
        }.get(name, {})

    def runner(self, name: str, /, **event: Any) -> Runner:
        payload = self.payload(name) | event | {"repository": {"default_branch": "main"}}
        self.temp.mkdir(exist_ok=True)
        (self.temp / "event.json").write_text(json.dumps(payload), encoding="utf-8")
        github = {"event_name": name, "action_path": str(ROOT), "token": "t", "event": payload}
        environment = {
            "GITHUB_EVENT_NAME": name,
            "GITHUB_EVENT_PATH": str(self.temp / "event.json"),
            "GITHUB_BASE_REF": "main",
            "GITHUB_REPOSITORY": "someone/project",
        }
        return Runner(self.folder, self.temp, {"github": github}, environment)

    def act(
        self,
        name: str,
        /,
        stages: str = "static",
        inputs: Mapping[str, str] = {},
        runner: Runner | None = None,
        **event: Any,
    ) -> Ended:
        """The action's steps on an event, with verifygate installed already: installing is a test of its own."""
        folder = self.temp / "verifygate/bin"
        if not folder.exists():
            on_path(folder, "python", f'#!/bin/sh\nexec {PROGRAMS}/python "$@"\n')
        steps = [step for step in STEPS if "Install" not in step["name"]]
        assert len(steps) == len(STEPS) - 1
        runner = runner or self.runner(name, **event)
        return runner.run(steps, inputs=INPUTS | {"stages": stages} | inputs)


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_a_pull_request_that_touches_no_code_passes(clone: Clone) -> None:
    """The old fault is shown and does not block; the summary says PASS."""
    clone.change({"README.md": "# Another title\n"})
    ended = clone.act("pull_request")
    assert ended.code == 0, ended.said
    assert ended.outputs["verdict"] == "PASS"
    assert Path(ended.outputs["report"]).is_file()
    assert "PASS" in ended.summary


def test_a_pull_request_that_brings_a_fault_is_blocked(clone: Clone) -> None:
    """The step fails, the line is annotated, the summary names the rule, and the old fault is not called new."""
    clone.change({"new.py": FAULTY})
    ended = clone.act("pull_request")
    assert ended.code == 1
    assert ended.outputs["verdict"] == "BLOCK"
    assert re.search(r"^::error file=new\.py,line=8,.*AMP201", ended.said, re.MULTILINE)
    assert "**BLOCK**" in ended.summary
    assert "AMP201" in ended.summary


def test_a_pull_request_is_asked_for_its_own_change_though_main_has_moved(clone: Clone) -> None:
    """What main got since is not the change's: neither a fault nor its repair."""
    clone.change({"README.md": "# Another title\n"})
    commit(clone.origin, {"later.py": FAULTY})
    git(clone.folder, "fetch", "-q", "origin")
    assert clone.act("pull_request").code == 0


def test_a_merge_group_is_compared_with_its_base(clone: Clone) -> None:
    clone.change({"new.py": FAULTY})
    assert clone.act("merge_group").code == 1


@pytest.mark.parametrize(("files", "code"), [({"README.md": "# New\n"}, 0), ({"new.py": FAULTY}, 1)])
def test_a_push_is_compared_with_what_was_there(clone: Clone, files: dict[str, str], code: int) -> None:
    commit(clone.folder, files)
    assert clone.act("push").code == code


@pytest.mark.parametrize("event", ["schedule", "workflow_dispatch"])
def test_without_a_change_the_whole_project_is_judged(clone: Clone, event: str) -> None:
    assert clone.act(event).code == 1


@pytest.mark.parametrize("event", ["pull_request_target", "workflow_run"])
def test_an_event_with_rights_runs_nothing(clone: Clone, event: str) -> None:
    """Also where the base is named, so that nobody asks the event for it."""
    ended = clone.act(event, inputs={"since": clone.main})
    assert ended.code == 2
    assert f"::error::a job on {event} holds rights" in ended.said
    assert ended.outputs == {}
    assert not (clone.folder / "reports").exists()


def test_an_unknown_event_is_never_green(clone: Clone) -> None:
    ended = clone.act("issue_comment")
    assert ended.code == 1
    assert ended.outputs["verdict"] == "BLOCK"
    assert "this event is not known" in ended.summary


def test_a_revision_may_be_named(clone: Clone) -> None:
    """Where the event says nothing, as on a schedule."""
    clone.change({"README.md": "# Another title\n"})
    assert clone.act("schedule", inputs={"since": clone.main}).code == 0


def test_an_advisory_block_says_block_and_does_not_fail(clone: Clone) -> None:
    commit(clone.folder, {"verifygate.toml": "[verdict]\nadvisory_until = 2999-01-01\n"})
    ended = clone.act("schedule")
    assert (ended.code, ended.outputs["verdict"]) == (0, "BLOCK")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("http.https://github.com/.extraheader", "AUTHORIZATION: basic abc"),
        ("http.extraheader", "AUTHORIZATION: basic abc"),
        ("core.sshCommand", "ssh -i /home/runner/key"),
        ("remote.upstream.url", "https://x-access-token:abc@github.com/someone/project"),
        ("url.https://abc@github.com/.insteadOf", "https://github.com/"),
    ],
)
def test_code_of_the_project_does_not_run_beside_a_token_for_git(clone: Clone, key: str, value: str) -> None:
    """The static stage runs nothing of the project, and may; the other stages are refused."""
    git(clone.folder, "config", key, value)
    ended = clone.act("pull_request", stages="all")
    assert ended.code == 2
    assert "persist-credentials: false" in ended.said


def test_a_token_that_the_checkout_keeps_in_a_file_of_its_own_is_seen(clone: Clone, tmp_path: Path) -> None:
    """actions/checkout 6 writes it beside the runner's temporary files, and includes that file."""
    kept = tmp_path / "credentials.config"
    kept.write_text('[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic abc\n', encoding="utf-8")
    git(clone.folder, "config", f"includeIf.gitdir:{clone.folder}/.git.path", str(kept))
    ended = clone.act("pull_request", stages="all")
    assert ended.code == 2
    assert "persist-credentials: false" in ended.said


def test_a_token_in_the_checkout_of_another_user_is_seen(clone: Clone) -> None:
    """So it is in a container: git says nothing of such a repository's configuration unless it is told that it may."""
    git(clone.folder, "config", "http.https://github.com/.extraheader", "AUTHORIZATION: basic abc")
    runner = clone.runner("pull_request")
    another = {**runner.environment, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    ended = clone.act("pull_request", stages="all", runner=runner._replace(environment=another))
    assert ended.code == 2
    assert "persist-credentials: false" in ended.said


def test_the_static_stage_may_run_beside_a_token_for_git(clone: Clone) -> None:
    """It runs nothing of the project."""
    git(clone.folder, "config", "http.https://github.com/.extraheader", "AUTHORIZATION: basic abc")
    clone.change({"README.md": "# Another title\n"})
    assert clone.act("pull_request").code == 0


def test_tokens_of_the_job_are_out_of_sight(clone: Clone) -> None:
    """Tests of the project could read the environment of the gate's process."""
    on_path(clone.temp / "verifygate/bin", "python", "#!/bin/sh\nenv\n")
    secrets = {"GITHUB_TOKEN": "aaa", "GH_TOKEN": "bbb", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "ccc"}
    steps = [step for step in STEPS if "Install" not in step["name"]]
    runner = clone.runner("schedule")
    ended = runner._replace(environment={**runner.environment, **secrets, "KEPT": "ddd"}).run(steps, inputs=INPUTS)
    assert "KEPT=ddd" in ended.said
    assert not any(value in ended.said for value in secrets.values())


def test_a_gate_that_cannot_judge_is_never_green(clone: Clone) -> None:
    """A broken configuration: exit code 2, no verdict, and no report of an earlier run."""
    clone.change({"verifygate.toml": "[project]\nnam = 1\n"})
    stale = clone.folder / "reports/latest/report.json"
    stale.parent.mkdir(parents=True)
    stale.write_text("{}", encoding="utf-8")
    ended = clone.act("schedule")
    assert ended.code == 2
    assert "verdict" not in ended.outputs
    assert not stale.exists()


@pytest.mark.slow
def test_stages_that_run_tests_see_what_the_project_has_installed(clone: Clone) -> None:
    """Beside the packages of the Python that is there, and with the versions that it has."""
    base = str(Path(sys.base_prefix) / "bin/python3")
    ended = clone.runner("pull_request").run(STEPS[:2], inputs=INPUTS | {"python": base, "stages": "static execution"})
    assert ended.code == 0, ended.said
    seen = {name: (clone.temp / name / "pyvenv.cfg").read_text(encoding="utf-8") for name in ("verifygate", "project")}
    assert ["true" in text.split("system-site-packages")[1] for text in seen.values()] == [False, True]
    shown = subprocess.run([clone.temp / "verifygate/bin/verifygate", "--version"], capture_output=True, text=True)
    assert shown.stdout.startswith("verifygate ")


@pytest.mark.slow
def test_a_missing_python_is_named(clone: Clone) -> None:
    ended = clone.runner("schedule").run(STEPS, inputs=INPUTS | {"python": "python-that-is-not-there"})
    assert ended.code == 2
    assert "verifygate needs Python 3.11 or newer" in ended.said


@pytest.fixture
def written(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Any]:
    """The jobs of the workflow that `verifygate init --ci github` writes into main."""
    monkeypatch.chdir(clone.origin)
    assert main(["init", "--ci", "github"]) == 0
    clone.main = clone.head = commit(clone.origin, {}, "ci")
    git(clone.folder, "pull", "-q", "origin", "main")
    workflow = yaml.safe_load((clone.origin / ".github/workflows/verifygate.yml").read_text(encoding="utf-8"))
    jobs: Mapping[str, Any] = workflow["jobs"]
    return jobs


def gate(clone: Clone, jobs: Mapping[str, Any], name: str = "pull_request", /, **event: Any) -> Ended:
    """The steps of the first job after the install, with the static stage instead of all: seconds for a minute."""
    on_path(clone.temp / "verifygate/bin", "python", f'#!/bin/bash\nexec {PROGRAMS}/python "${{@/#all/static}}"\n')
    steps = [step for step in jobs["gate"]["steps"] if "Install" not in step.get("name", "")]
    return clone.runner(name, **event).run(steps)


def test_the_written_workflow_judges_a_pull_request(clone: Clone, written: Mapping[str, Any]) -> None:
    clone.change({"README.md": "# Another title\n"})
    assert (passed := gate(clone, written)).code == 0, passed.said
    assert "PASS" in passed.summary
    clone.change({"new.py": FAULTY})
    blocked = gate(clone, written)
    assert blocked.code == 1
    assert "AMP201" in blocked.summary
    assert "::error file=new.py,line=8" in blocked.said


@pytest.mark.parametrize(("name", "code"), [("push", 0), ("merge_group", 0), ("workflow_run", 2)])
def test_the_written_workflow_knows_its_events(clone: Clone, written: Mapping[str, Any], name: str, code: int) -> None:
    commit(clone.folder, {"README.md": "# Another title\n"})
    assert gate(clone, written, name).code == code


def test_the_written_pipeline_of_gitlab_judges_a_merge_request(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its script with a Python that installs nothing, and GitLab's variables: its artifacts are there, its token is out
    of sight."""
    monkeypatch.chdir(clone.origin)
    assert main(["init", "--ci", "gitlab"]) == 0
    clone.main = commit(clone.origin, {}, "ci")
    git(clone.folder, "fetch", "-q", "origin")
    clone.change({"new.py": FAULTY})
    (job,) = yaml.safe_load((clone.origin / ".gitlab/verifygate.yml").read_text(encoding="utf-8")).values()
    shim = (
        f'#!/bin/bash\n[ "$2 $3" = "-m verifygate" ] || exit 0\n'
        f'echo "token: ${{CI_JOB_TOKEN-none}}"\nexec {PROGRAMS}/python "${{@/#all/static}}"\n'
    )
    environment = {
        "PATH": on_path(clone.temp / "bin", "python", shim),
        "HOME": str(clone.temp),
        "GITLAB_CI": "true",
        "CI_PIPELINE_SOURCE": "merge_request_event",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": clone.main,
        "CI_PROJECT_URL": "https://gitlab.example/someone/project",
        "CI_PROJECT_DIR": str(clone.folder),
        "CI_JOB_TOKEN": "secret",
        "VERIFYGATE": job["variables"]["VERIFYGATE"] or "a release",
    }
    script = "\n".join(["set -e", *job["script"]]).replace('"$apart/verifygate/bin/python"', "python")
    script = script.replace("verifygate/bin/python -I -m pip", "true")
    ended = subprocess.run(["bash", "-c", script], cwd=clone.folder, env=environment, capture_output=True, text=True)
    assert ended.returncode == 1, ended.stderr
    assert "token: none" in ended.stdout
    assert "AMP201" in ended.stdout
    assert git(clone.folder, "remote", "get-url", "origin") == "https://gitlab.example/someone/project.git"
    for path in (*job["artifacts"]["paths"], *job["artifacts"]["reports"].values()):
        assert (clone.folder / path).exists()


GH = """\
#!/bin/bash
echo "$@" >> "$CALLS"
case "$*" in *--paginate*) printf '%s' "$POSTED" ;; esac
"""


@pytest.mark.parametrize(
    ("files", "posted", "method"),
    [
        ({"new.py": FAULTY}, "", "POST repos/someone/project/issues/7/comments"),
        ({"new.py": FAULTY}, "41\n42\n", "PATCH repos/someone/project/issues/comments/41"),
        ({"README.md": "# New\n"}, "41\n", "DELETE repos/someone/project/issues/comments/41"),
        ({"README.md": "# New\n"}, "", None),
    ],
    ids=["first", "replaced", "nothing applies any more", "nothing ever applied"],
)
def test_the_second_job_posts_from_the_report_alone(
    clone: Clone, written: Mapping[str, Any], files: dict[str, str], posted: str, method: str | None
) -> None:
    """In a folder with the artifact and nothing else; `gh` writes down what it is asked for."""
    clone.change(files)
    gate(clone, written)
    folder = clone.temp / "second"
    (folder / "report").mkdir(parents=True)
    (clone.temp / "report/report.json").rename(folder / "report/report.json")
    calls = clone.temp / "calls"
    environment = {
        "PATH": on_path(clone.temp / "gh", "gh", GH),
        "CALLS": str(calls),
        "POSTED": posted,
    }
    steps = [step for step in written["comment"]["steps"] if "Install" not in step.get("name", "")]
    runner = clone.runner("pull_request")
    ended = runner._replace(workspace=folder, environment={**runner.environment, **environment}).run(steps)
    assert ended.code == 0, ended.said
    asked, *done = calls.read_text(encoding="utf-8").splitlines()
    assert "github-actions[bot]" in asked
    assert [" ".join(line.split(" ")[3:5]) for line in done] == ([method] if method else [])
    body = (folder / "comment.md").read_text(encoding="utf-8")
    marker = steps[-1]["env"]["MARKER"]
    assert body.startswith(f"{marker}\n") if "new.py" in files else body == ""


@pytest.mark.slow
def test_the_written_workflow_installs_what_it_runs(
    clone: Clone, written: Mapping[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its install step in an environment of its own. torch is left out, which is large; the release is made here, since
    nothing is on the index before the first one."""
    wheels = tmp_path_factory.mktemp("wheels")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", wheels, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    clone.change({"README.md": "# Another title\n"})
    own, project = (dict(step) for step in written["gate"]["steps"] if "Install" in step.get("name", ""))
    made, path, torch, *rest = project["run"].splitlines()
    assert torch == "python -m pip install torch --index-url https://download.pytorch.org/whl/cpu"
    project["run"] = "\n".join((made, path, *rest))
    runner = clone.runner("pull_request")
    release = f"{DISTRIBUTION}=={__version__}"
    settings = {"PATH": f"{PROGRAMS}:/usr/bin:/bin", "PIP_FIND_LINKS": str(wheels), "VERIFYGATE": release}
    runner = runner._replace(environment={**runner.environment, **settings})
    assert (ended := runner.run([own, project])).code == 0, ended.said
    assert (clone.temp / "verifygate/bin/verifygate").is_file()
    assert (clone.temp / "project/bin/pytest").is_file()
