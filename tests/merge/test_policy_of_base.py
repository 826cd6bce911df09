"""A change does not decide by what it is judged: its policy is that of the revision it is based on."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from verifygate.cli import main

FAULTY = """\
import torch


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
SOUND = FAULTY.replace("        torch.nn", "        scaler.unscale_(optimizer)\n        torch.nn")
CONFIG = '[requirements]\nspec = "spec.yaml"\n[performance.targets]\nspeedup = 1.5\n'
SPEC = """\
title: Training
gates: {{coverage: {coverage}}}
requirements:
  - id: R-1
    title: Unscaled before clipping
    text: Gradients are unscaled before they are clipped.
    group: acceptance
    severity: high
    required: {required}
    verify: [{{rule: AMP201}}]
"""
STRICT, LAX = SPEC.format(coverage=0.9, required="true"), SPEC.format(coverage=0.1, required="false")
RUN = ["run", "--stage", "static", "--stage", "requirements"]


def commit(folder: Path) -> None:
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["add", "-A"], ["commit", "-qm", "next"]):
        subprocess.run([*git, *command], check=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a policy, and code that does not meet it."""
    for name, text in {"train.py": FAULTY, "verifygate.toml": CONFIG, "spec.yaml": STRICT}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    commit(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "reports/latest/report.json").read_text(encoding="utf-8"))


def altered(folder: Path) -> dict[str, tuple[str, str]]:
    return {each["key"]: (each["here"], each["there"]) for each in report(folder)["policy_origin"]["differences"]}


def test_a_threshold_that_the_change_lowers_is_not_in_force(repository: Path, capsys: pytest.CaptureFixture[str]):
    """The requirement blocks as it did, its gate asks for as much, and the first screen says what was tried."""
    (repository / "spec.yaml").write_text(LAX, encoding="utf-8")
    (repository / "verifygate.toml").write_text(CONFIG.replace("1.5", "1.1"), encoding="utf-8")
    (repository / "new.py").write_text(FAULTY, encoding="utf-8")

    assert main([*RUN, "--since", "HEAD"]) == 1
    found = report(repository)
    assert [reason["check"] for reason in found["reasons"]] == ["", "requirements.R-1"]
    gates = {gate["title"]: gate for gate in found["stages"][1]["details"]["gates"]}
    assert gates["Requirements coverage"]["threshold"] == ">= 90 %"
    assert altered(repository) == {
        "performance.targets.speedup": ("1.1", "1.5"),
        "specification: gates.coverage": ("0.1", "0.9"),
        "requirement R-1: required": ("false", "not set"),
    }
    page = (repository / "reports/latest/gate.md").read_text(encoding="utf-8")
    first_screen = page.partition("\n## Verdict")[2].partition("\n## ")[0]
    assert "this change alters it (3 differences), which is not in force before it is merged" in first_screen
    assert "| `specification: gates.coverage` | 0.1 | 0.9 |" in first_screen
    assert "performance.targets.speedup: 1.1 in this change, 1.5 there" in capsys.readouterr().out


def test_a_change_of_policy_takes_effect_once_it_is_merged(repository: Path):
    (repository / "spec.yaml").write_text(LAX, encoding="utf-8")
    commit(repository)

    assert main([*RUN, "--since", "HEAD"]) == 0
    assert altered(repository) == {}
    assert "this change alters nothing in it" in (repository / "reports/latest/gate.md").read_text(encoding="utf-8")


def test_the_policy_of_the_tree_can_be_asked_for_outright(repository: Path, capsys: pytest.CaptureFixture[str]):
    (repository / "spec.yaml").write_text(LAX, encoding="utf-8")

    assert main([*RUN, "--since", "HEAD", "--accept-policy"]) == 0
    assert report(repository)["policy_origin"]["state"] == "that of the change"
    assert "specification: gates.coverage" in altered(repository)
    assert "by --accept-policy, with 2 differences" in capsys.readouterr().out


def test_accept_policy_needs_a_base_policy(repository: Path, capsys: pytest.CaptureFixture[str]):
    assert main([*RUN, "--accept-policy"]) == 2
    assert "--accept-policy: needs --since or --policy-from: there is no base policy" in capsys.readouterr().err


def test_without_a_revision_the_tree_rules(repository: Path):
    (repository / "verifygate.toml").write_text("[verdict]\nblock = []\n", encoding="utf-8")

    assert main(RUN) == 0
    assert report(repository)["policy_origin"] is None
    page = (repository / "reports/latest/gate.md").read_text(encoding="utf-8")
    assert "**Not the default policy:** `verdict.block` is nothing (default: critical, high)" in page
    provenance = (repository / "reports/latest/provenance.md").read_text(encoding="utf-8")
    assert "| `verdict.block` | **nothing** | critical, high |" in provenance


@pytest.mark.parametrize("block", ["[]", '["critical"]'])
def test_what_blocks_cannot_be_emptied(repository: Path, block: str):
    """With the policy from the base, and all findings counted: `--policy-from` alone inherits nothing."""
    (repository / "verifygate.toml").write_text(f"{CONFIG}[verdict]\nblock = {block}\n", encoding="utf-8")
    (repository / "spec.yaml").unlink()

    assert main(["run", "--stage", "static", "--config", "verifygate.toml", "--policy-from", "HEAD"]) == 2
    (repository / "spec.yaml").write_text(STRICT, encoding="utf-8")
    assert main(["run", "--stage", "static", "--policy-from", "HEAD"]) == 1
    assert altered(repository)["verdict.block"][1] == '["critical", "high"]'
    policy = {each["key"]: each["value"] for each in report(repository)["policy"]}
    assert policy["verdict.block"] == "critical, high"


def test_a_waiver_that_the_change_brings_covers_nothing(repository: Path):
    waiver = '[[waivers]]\nchecks = ["requirements.R-2"]\nreason = "r"\nowner = "o"\nexpires = 2099-01-01\n'
    query = "verify: [{rule: AMP201}]\n"
    unmet = STRICT.replace(query, query.replace("AMP201", "AMP999")).replace("R-1", "R-2")
    (repository / "spec.yaml").write_text(unmet, encoding="utf-8")
    commit(repository)
    (repository / "verifygate.toml").write_text(CONFIG + waiver, encoding="utf-8")

    assert main([*RUN, "--since", "HEAD"]) == 1
    assert report(repository)["waivers"] == []
    assert altered(repository) == {"waiver of requirements.R-2": ("until 2099-01-01, o: r", "not set")}
    assert main([*RUN, "--since", "HEAD", "--accept-policy"]) == 0


def test_a_configuration_taken_away_still_counts(repository: Path):
    (repository / "verifygate.toml").unlink()
    (repository / "new.py").write_text(FAULTY, encoding="utf-8")

    assert main([*RUN, "--since", "HEAD"]) == 1
    assert [reason["check"] for reason in report(repository)["reasons"]] == ["", "requirements.R-1"]
    assert altered(repository)["requirements.spec"] == ("not set", "spec.yaml")


def test_a_nearer_configuration_does_not_hide_the_one_in_force(repository: Path, monkeypatch: pytest.MonkeyPatch):
    inner = repository / "pkg"
    inner.mkdir()
    (inner / "verifygate.toml").write_text("[verdict]\nblock = []\n", encoding="utf-8")
    (inner / "loop.py").write_text(FAULTY, encoding="utf-8")
    monkeypatch.chdir(inner)

    assert main([*RUN, "--since", "HEAD"]) == 1
    assert {reason["path"] for reason in report(repository)["reasons"]} >= {"pkg/loop.py"}


@pytest.mark.parametrize("named", [[], ["--config", "verifygate.toml"]])
def test_the_first_configuration_lets_no_change_pass(
    repository: Path, named: list[str], capsys: pytest.CaptureFixture[str]
):
    """A project without one is judged by the default policy, and so is the change that brings one."""
    (repository / "verifygate.toml").unlink()
    commit(repository)
    (repository / "verifygate.toml").write_text("[verdict]\nblock = []\n", encoding="utf-8")
    (repository / "new.py").write_text(FAULTY, encoding="utf-8")

    assert main(["run", "--stage", "static", "--since", "HEAD", *named]) == 1
    assert altered(repository) == {"verdict.block": ("nothing", '["critical", "high"]')}
    assert "which has no configuration: the default policy; this change alters it" in capsys.readouterr().out
    assert main(["run", "--stage", "static", "--since", "HEAD", *named, "--accept-policy"]) == 0


def test_a_broken_policy_there_is_named(repository: Path, capsys: pytest.CaptureFixture[str]):
    (repository / "spec.yaml").write_text(STRICT.replace("title: Training", "titel: Training"), encoding="utf-8")
    commit(repository)
    (repository / "spec.yaml").write_text(STRICT, encoding="utf-8")
    (repository / "new.py").write_text(FAULTY, encoding="utf-8")
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout[:12]

    assert main([*RUN, "--since", "HEAD"]) == 2
    assert f"{head}:spec.yaml:1: " in capsys.readouterr().err
    assert main([*RUN, "--since", "HEAD", "--accept-policy"]) == 1, "or nobody could ever repair it"
    assert altered(repository)["policy"][1].startswith("not usable: `title` is missing")


def test_the_baseline_is_that_of_the_revision(repository: Path):
    """An edited one in the tree is not even read."""
    assert main(RUN) == 1
    kept = repository / "kept.json"
    kept.write_text((repository / "reports/latest/report.json").read_text(encoding="utf-8"), encoding="utf-8")
    (repository / ".gitignore").write_text("reports\n", encoding="utf-8")
    commit(repository)
    kept.write_text(kept.read_text(encoding="utf-8").replace("clip-before-unscale", "nothing"), encoding="utf-8")

    assert main([*RUN, "--baseline", "kept.json"]) == 2
    assert main([*RUN, "--baseline", "kept.json", "--policy-from", "HEAD"]) == 1
    assert altered(repository) == {"baseline kept.json": ("another report", "an earlier one")}
    assert [finding["rule"] for finding in report(repository)["changes"]["open"]] == ["AMP201"]


@pytest.mark.parametrize(
    ("checks", "expires", "code", "said"),
    [
        ('["*"]', "2099-01-01", 2, "verifygate.toml:5: `waivers.0`: a waiver names its checks one by one"),
        ('["requirements.*"]', "2099-01-01", 2, "a waiver names its checks one by one"),
        ('["requirements.R-2"]', "2020-01-01", 1, "waiver-expired"),
    ],
)
def test_waivers_that_cover_nothing(
    repository: Path, checks: str, expires: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
):
    waiver = f'[[waivers]]\nchecks = {checks}\nreason = "no runner"\nowner = "ann"\nexpires = {expires}\n'
    (repository / "verifygate.toml").write_text(CONFIG + waiver, encoding="utf-8")
    (repository / "spec.yaml").write_text(STRICT.replace("AMP201", "AMP999").replace("R-1", "R-2"), encoding="utf-8")

    assert main(["run", "--stage", "requirements"]) == code
    if code == 2:
        assert said in capsys.readouterr().err
    else:
        (reason,) = (each for each in report(repository)["reasons"] if each["condition"] == said)
        assert "the waiver of ann for it (no runner) ended on 2020-01-01" in reason["text"]


def test_what_the_change_tells_git_to_ignore_is_read(repository: Path, capsys: pytest.CaptureFixture[str]):
    """What a build makes in the job is in no commit: the base's list says whether it is looked at."""
    (repository / "train.py").write_text(SOUND, encoding="utf-8")
    (repository / ".gitignore").write_text("reports/\nscratch.py\n", encoding="utf-8")
    commit(repository)
    (repository / ".gitignore").write_text("reports/\nscratch.py\nmade.py\n", encoding="utf-8")
    for name in ("made.py", "scratch.py"):
        (repository / name).write_text(FAULTY, encoding="utf-8")
    options = ["run", "--stage", "static"]
    assert main(options) == 0
    page = (repository / "reports/latest/gate.md").read_text(encoding="utf-8")
    assert "2 files left out (1 by `.gitignore:2: scratch.py`, 1 by `.gitignore:3: made.py`)" in page
    assert "left out      2 files left out" not in (out := capsys.readouterr().out)
    assert "  left out      2 files (1 by `.gitignore:2: scratch.py`, 1 by `.gitignore:3: made.py`)" in out

    assert main([*options, "--since", "HEAD"]) == 1
    assert [reason["path"] for reason in report(repository)["reasons"]] == ["made.py"]
    assert report(repository)["stages"][0]["details"]["left_out"] == [
        {"rule": ".gitignore:2: scratch.py", "files": 1, "examples": ["scratch.py"]}
    ]
    assert main([*options, "--since", "HEAD", "--accept-policy"]) == 0


def test_a_file_that_a_change_commits_is_read_whatever_it_tells_git(repository: Path):
    (repository / "train.py").write_text(SOUND, encoding="utf-8")
    commit(repository)
    (repository / "hidden.py").write_text(FAULTY, encoding="utf-8")
    commit(repository)
    (repository / ".gitignore").write_text("*\n!.gitignore\n", encoding="utf-8")
    commit(repository)
    for base in ("HEAD~2", "HEAD~1", "HEAD"):
        assert main(["run", "--stage", "static", "--policy-from", base]) == 1, base
        assert [reason["path"] for reason in report(repository)["reasons"]] == ["hidden.py"]
    assert main(["run", "--stage", "static"]) == 1
