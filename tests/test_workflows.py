"""The workflows of this repository, its action, and those that `verifygate init --ci` writes: valid, and with no right
that they do not need where code of a stranger runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from verifygate.cli import main
from verifygate.commands.ci_files import ACTIONS

ROOT = Path(__file__).parent.parent
PROGRAMS = Path(sys.executable).parent
OWN = sorted((ROOT / ".github/workflows").glob("*.yml"))
WRITES = {
    ("release.yml", "attest"): {"id-token", "attestations"},
    ("release.yml", "publish"): {"id-token"},
    ("verifygate.yml", "comment"): {"pull-requests"},
}
"""Which job may write what. Everything else reads the repository at most."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository for which the files of both services were written."""
    folder = tmp_path_factory.mktemp("project")
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    (folder / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "1"\n', encoding="utf-8")
    (folder / "requirements.txt").write_text("packaging\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["init", "--ci", "github"]) == 0
        assert main(["init", "--ci", "gitlab"]) == 0
    return folder


@pytest.fixture(scope="module")
def workflows(project: Path) -> list[Path]:
    return [*OWN, *sorted((project / ".github/workflows").glob("*.yml"))]


def read(path: Path) -> dict[str, Any]:
    text: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return text


def passes(program: str, *arguments: str | Path) -> None:
    ended = subprocess.run([PROGRAMS / program, *arguments], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_services_take_the_files(project: Path, workflows: list[Path]) -> None:
    """By the schemas that the services' own editors use."""
    assert len(workflows) == 4
    passes("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    passes("check-jsonschema", "--builtin-schema", "vendor.github-actions", ROOT / "action.yml")
    gitlab = (project / ".gitlab-ci.yml", project / ".gitlab/verifygate.yml")
    passes("check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", *gitlab)


def test_the_auditor_of_workflows_finds_nothing(workflows: list[Path]) -> None:
    """zizmor: injection by templates, unpinned actions, kept credentials, excessive permissions, dangerous triggers."""
    passes("zizmor", "--offline", "--no-progress", "--pedantic", ROOT / "action.yml", *workflows)


def test_the_auditor_finds_what_is_wrong(tmp_path: Path) -> None:
    """The check above can fail."""
    bad = tmp_path / ".github/workflows/bad.yml"
    bad.parent.mkdir(parents=True)
    gate = (ROOT / ".github/workflows/gate.yml").read_text(encoding="utf-8")
    bad.write_text(gate.replace("pull_request:", "pull_request_target:"), encoding="utf-8")
    ended = subprocess.run([PROGRAMS / "zizmor", "--offline", "--no-progress", bad], capture_output=True, text=True)
    assert ended.returncode != 0
    assert "dangerous-triggers" in ended.stdout


def test_rights_are_the_least(workflows: list[Path]) -> None:
    """Each job reads the repository at most, but for the few that write; and those run no code of it."""
    seen = set()
    for path in workflows:
        workflow = read(path)
        assert workflow["permissions"] in ({}, {"contents": "read"}), path.name
        for name, job in workflow["jobs"].items():
            granted = job.get("permissions", workflow["permissions"])
            writes = {right for right, level in granted.items() if level == "write"}
            assert writes == WRITES.get((path.name, name), set()), (path.name, name)
            if writes:
                seen.add((path.name, name))
                assert "checkout" not in str(job["steps"])
                assert all(runs_nothing_of_the_project(step.get("run", "")) for step in job["steps"])
    assert seen == set(WRITES)


def runs_nothing_of_the_project(commands: str) -> bool:
    return not re.search(r"verifygate run|pytest|pip install (-e|-r|\.)|make ", commands)


def test_no_event_brings_rights_to_a_stranger(workflows: list[Path]) -> None:
    """`on` is what YAML reads as true."""
    for path in workflows:
        events = set(read(path)[True])  # type: ignore[call-overload]
        assert not events & {"pull_request_target", "workflow_run", "issue_comment"}, path.name
        assert "secrets." not in path.read_text(encoding="utf-8")


def test_every_action_is_a_full_hash_and_the_same_everywhere(workflows: list[Path]) -> None:
    used = {
        line
        for path in [ROOT / "action.yml", ROOT / "verifygate/docs/ci.md", *workflows]
        for line in re.findall(r"^ +-? *uses: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        if not line.startswith(("./", "OWNER/REPOSITORY@COMMIT"))
    }
    assert used >= set(ACTIONS.values())
    assert all(re.fullmatch(r"(actions|pypa|github)/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line) for line in used)
    assert len({line.partition("@")[0] for line in used}) == len(used), "one hash for an action"


def test_no_checkout_keeps_its_token(workflows: list[Path]) -> None:
    checkouts = [
        step
        for path in workflows
        for job in read(path)["jobs"].values()
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/checkout@")
    ]
    assert len(checkouts) == 5
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_a_pull_request_is_judged_by_the_policy_of_its_base() -> None:
    """The action gives `--since`, which takes the policy from there too; and the base branch is there to be asked."""
    gate = read(ROOT / ".github/workflows/gate.yml")["jobs"]["gate"]
    (checkout,) = (step for step in gate["steps"] if "checkout" in step.get("uses", ""))
    assert checkout["with"]["fetch-depth"] == 0
    assert any(step.get("uses") == "./" for step in gate["steps"])


def test_every_input_and_output_of_the_action_is_documented_and_used() -> None:
    action = read(ROOT / "action.yml")
    steps = str(action["runs"]["steps"])
    for name, field in (action["inputs"] | action["outputs"]).items():
        assert len(field["description"]) > 20, name
    assert set(re.findall(r"inputs\.([\w-]+)", steps)) == set(action["inputs"])
    assert "${{" not in "".join(step.get("run", "") for step in action["runs"]["steps"])
    assert not any("uses" in step for step in action["runs"]["steps"])


def test_what_stands_there_is_not_overwritten(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    path = project / ".github/workflows/verifygate.yml"
    before = path.read_bytes()
    assert main(["init", "--ci", "github", "--force"]) == 2
    assert "verifygate.yml: the file already exists, and is not overwritten" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_it_says_what_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A repository that has a pipeline keeps it, and is told the line to add."""
    subprocess.run(["git", "init", "-q", "-b", "trunk", tmp_path], check=True)
    folder = tmp_path / "services/my trainer"
    folder.mkdir(parents=True)
    (tmp_path / ".gitlab-ci.yml").write_text("stages: [test]\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    assert main(["init", "--ci", "gitlab"]) == 0
    first, then, *rest = capsys.readouterr().out.splitlines()
    assert first == "Wrote .gitlab/verifygate-services-my-trainer.yml"
    assert then == (
        "Next: add `- local: .gitlab/verifygate-services-my-trainer.yml` below `include:` in .gitlab-ci.yml, "
        "and commit it"
    )
    assert rest[-1].startswith("Wrote verifygate.toml")
    assert main(["init", "--ci", "github"]) == 0
    out = capsys.readouterr().out.splitlines(keepends=True)
    assert any(line.startswith("The job: it installs ") for line in out)
    assert "".join(line for line in out if not line.startswith("The job: ")) == (
        "Wrote .github/workflows/verifygate-services-my-trainer.yml\n"
        "Next: look through its install step, and commit it\n"
        "Kept verifygate.toml\n"
    )
    assert (tmp_path / ".gitlab-ci.yml").read_text(encoding="utf-8") == "stages: [test]\n"
    workflow = read(tmp_path / ".github/workflows/verifygate-services-my-trainer.yml")
    assert workflow[True]["push"] == {"branches": ["trunk"]}  # type: ignore[index]
    assert workflow["jobs"]["gate"]["defaults"]["run"]["working-directory"] == "services/my trainer"
    (pipeline,) = read(tmp_path / ".gitlab/verifygate-services-my-trainer.yml").values()
    assert "cd \"$CI_PROJECT_DIR\"/'services/my trainer'" in pipeline["script"]
