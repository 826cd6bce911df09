"""`run --since REV` and what the configuration switches off: a change answers for itself, and nothing goes unseen."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from verifygate.base.errors import UsageError
from verifygate.cli import main
from verifygate.config.settings import StaticSettings
from verifygate.config.tree_versions import TreeVersions, altered_versions
from verifygate.gate import run
from verifygate.model import StageResult
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.stage import StageContext
from verifygate.static.engine import analyse

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


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose first commit holds one fault."""
    (tmp_path / "old.py").write_text(FAULTY, encoding="utf-8")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(folder: Path) -> dict[str, object]:
    return json.loads((folder / "reports/latest/report.json").read_text(encoding="utf-8"))


def test_what_stood_before_is_open_and_does_not_block(repository: Path, capsys: pytest.CaptureFixture[str]):
    """Even when lines above it moved it down; the PASS says so on its first screen."""
    (repository / "old.py").write_text("# a note\n\n" + FAULTY, encoding="utf-8")

    assert main(["run", "--stage", "static", "--since", "HEAD"]) == 0
    changes = report(repository)["changes"]
    assert [finding["line"] for finding in changes["open"]] == [10]
    assert not changes["new"]
    assert "not new       1 finding (1 critical), present before this change" in capsys.readouterr().out
    page = (repository / "reports/latest/gate.md").read_text(encoding="utf-8")
    head = page.partition("\n## Verdict")[2].partition("\n## ")[0]
    assert "**Present before this change, not blocking:** 1 finding (1 critical), against the source at" in head
    assert "[old.py:10](../../old.py#L10) AMP201" in head


def test_what_the_change_brings_blocks(repository: Path):
    (repository / "new.py").write_text(FAULTY, encoding="utf-8")

    assert main(["run", "--stage", "static", "--since", "HEAD"]) == 1
    document = report(repository)
    assert [reason["path"] for reason in document["reasons"]] == ["new.py"]
    assert [finding["path"] for finding in document["changes"]["new"]] == ["new.py"]


def test_a_further_location_of_what_stood_before_blocks(repository: Path):
    """An identical copy is one more location of the finding that stood; the copy alone is new."""
    (repository / "older.py").write_text(FAULTY, encoding="utf-8")

    assert main(["run", "--stage", "static", "--since", "HEAD"]) == 1
    document = report(repository)
    assert [reason["path"] for reason in document["reasons"]] == ["older.py"]
    (found,) = document["changes"]["new"]
    assert [found["path"], *(place["path"] for place in found["places"])] == ["older.py"]


def test_a_further_location_that_is_gone_is_no_new_finding(repository: Path):
    (repository / "older.py").write_text(FAULTY, encoding="utf-8")
    git = ["git", "-C", str(repository), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["add", "."], ["commit", "-qm", "copied"]):
        subprocess.run([*git, *command], check=True)
    (repository / "old.py").unlink()

    assert main(["run", "--stage", "static", "--since", "HEAD"]) == 0
    assert [each["path"] for each in report(repository)["changes"]["open"]] == ["older.py"]


def test_what_the_change_mends_is_fixed(repository: Path):
    fixed = FAULTY.replace("        torch.nn.utils", "        scaler.unscale_(optimizer)\n        torch.nn.utils")
    (repository / "old.py").write_text(fixed, encoding="utf-8")

    assert main(["run", "--stage", "static", "--since", "HEAD"]) == 0
    assert [finding["rule"] for finding in report(repository)["changes"]["fixed"]] == ["AMP201"]


def test_an_unknown_revision_ends_2(repository: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["run", "--stage", "static", "--since", "no-such-branch"]) == 2
    assert "git knows no revision `no-such-branch` here" in capsys.readouterr().err
    assert not (repository / "reports").exists()


def test_a_folder_without_a_repository_ends_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """And so does a machine without git: no revision's name is to blame for it."""
    (tmp_path / "old.py").write_text(FAULTY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert main(["run", "--stage", "static", "--since", "HEAD"]) == 2
    assert "--since: there is no git repository here, or no git that runs" in capsys.readouterr().err


def test_the_report_names_the_commit_it_began_with(repository: Path, monkeypatch: pytest.MonkeyPatch):
    """Somebody who commits in the same checkout while the stages run changes nothing of what is reported."""
    git = ["git", "-C", str(repository), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    began = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    run_stage = run._run_stage

    def run_while_somebody_commits(name: str, context: StageContext) -> StageResult:
        subprocess.run([*git, "commit", "-qm", "meanwhile", "--allow-empty"], check=True)
        return run_stage(name, context)

    monkeypatch.setattr(run, "_run_stage", run_while_somebody_commits)
    assert main(["run", "--stage", "static"]) == 1
    assert report(repository)["provenance"]["commit"] == began


def test_per_file_ignores_are_listed_like_suppressions():
    """The finding is gone, the place and the pattern are not."""
    settings = StaticSettings(per_file_ignores={"legacy/*": ("AMP201",)})
    outcome = analyse(Sources([SourceFile("legacy/train.py", FAULTY.encode())]), settings)

    assert not outcome.findings
    assert [(each.path, each.line, each.rule) for each in outcome.suppressions] == [("legacy/train.py", 8, "AMP201")]
    assert "legacy/*" in outcome.suppressions[0].reason


def test_a_rule_with_suppressed_findings_is_partial(repository: Path, capsys: pytest.CaptureFixture[str]):
    """And a PASS that rests on it says so where its reader looks first: which rule, where, and why."""
    (repository / "verifygate.toml").write_text('[static.per_file_ignores]\n"*" = ["AMP201"]\n', encoding="utf-8")

    assert main(["run", "--stage", "static"]) == 0
    checks = {check["id"]: check for check in report(repository)["stages"][0]["checks"]}
    assert checks["static.AMP201"]["status"] == "PARTIAL"
    told = checks["static.AMP201"]["actual"]
    assert told.startswith("none, 1 suppressed (old.py:8, ")
    assert f"not shown     static.AMP201 is PARTIAL: {told}" in capsys.readouterr().out
    page = (repository / "reports/latest/gate.md").read_text(encoding="utf-8")
    assert "`static.AMP201` (**PARTIAL**, not required)" in page.partition("\n## Not shown\n")[2].partition("\n## ")[0]


def test_a_selection_that_leaves_no_rule_is_refused():
    with pytest.raises(UsageError, match="no rule is left to run"):
        analyse(Sources([]), StaticSettings(select=("AMP201",), ignore=("AMP2",)))


@pytest.mark.parametrize("words", ["", ","])
def test_an_empty_selection_is_refused(repository: Path, words: str, capsys: pytest.CaptureFixture[str]):
    assert main(["check", "--select", words]) == 2
    assert "is empty" in capsys.readouterr().err


def test_a_broken_file_that_only_uses_a_scaler_is_about_amp(repository: Path):
    """It names neither GradScaler nor autocast, and still ends 2: exit code 0 is never wrong."""
    (repository / "step.py").write_text("from made import scaler\nscaler.step(optimizer)\ndef (\n", encoding="utf-8")
    (repository / "old.py").unlink()

    assert main(["check"]) == 2


def test_a_threshold_scaled_as_well_is_no_clip_before_unscale():
    scaled = FAULTY.replace("1.0)", "1.0 * scaler.get_scale())")
    outcome = analyse(Sources([SourceFile("train.py", scaled.encode())]), StaticSettings(select=("AMP201",)))

    assert not outcome.findings


UNSEEN = """\
import torch

CLIP = getattr(torch.nn.utils, "clip_grad_" + "norm_")


def NAME(steps):
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(torch.ones(2, 4)).float().mean()
        scaler.scale(loss).backward()
        CLIP(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


@pytest.mark.slow
def test_what_only_a_run_shows_is_asked_of_the_code_of_then(repository: Path):
    """The tests of today show one violation in the code of then as well; another one came with the change."""
    pytest.importorskip("torch")
    git = ["git", "-C", str(repository), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    (repository / "old.py").write_text(UNSEEN.replace("NAME", "before"), encoding="utf-8")
    subprocess.run([*git, "commit", "-qam", "then"], check=True)
    (repository / "old.py").write_text("# moved down\n" + UNSEEN.replace("NAME", "before"), encoding="utf-8")
    (repository / "new.py").write_text(UNSEEN.replace("NAME", "since"), encoding="utf-8")
    tests = "import new, old\n\n\ndef test_before():\n    old.before(2)\n\n\ndef test_since():\n    new.since(2)\n"
    (repository / "test_both.py").write_text(tests, encoding="utf-8")
    (repository / "pytest.ini").touch()

    assert main(["run", "--stage", "execution", "--stage", "static", "--since", "HEAD"]) == 1
    changes = report(repository)["changes"]
    assert [(each["rule"], each["path"], each["witnesses"]) for each in changes["open"]] == [
        ("AMP201", "old.py", ["run"])
    ]
    assert [(each["rule"], each["path"]) for each in changes["new"]] == [("AMP201", "new.py")]


@pytest.mark.slow
def test_what_only_a_run_shows_is_asked_of_a_file_that_was_renamed(repository: Path):
    pytest.importorskip("torch")
    (repository / "old.py").write_text(UNSEEN.replace("NAME", "before"), encoding="utf-8")
    committed(repository, ["commit", "-qam", "then"], ["mv", "old.py", "loops.py"])
    (repository / "test_it.py").write_text(
        "import loops\n\n\ndef test_before():\n    loops.before(2)\n", encoding="utf-8"
    )
    (repository / "pytest.ini").touch()

    assert main(["run", "--stage", "execution", "--stage", "static", "--since", "HEAD"]) == 0
    changes = report(repository)["changes"]
    assert [(each["rule"], each["path"], each["witnesses"]) for each in changes["open"]] == [
        ("AMP201", "loops.py", ["run"])
    ]


def committed(folder: Path, *commands: list[str]) -> None:
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in commands:
        subprocess.run([*git, *command], check=True, capture_output=True)


def statuses(folder: Path) -> dict[str, list[str]]:
    changes = report(folder)["changes"]
    return {key: [finding["path"] for finding in changes[key]] for key in ("new", "open", "fixed")}


def test_a_file_that_is_renamed_and_edited_brings_nothing(repository: Path):
    (repository / "src").mkdir()
    committed(repository, ["mv", "old.py", "src/train.py"])
    moved = repository / "src/train.py"
    moved.write_text('"""Training."""\n\n' + moved.read_text(encoding="utf-8"), encoding="utf-8")

    assert main(["run", "--stage", "static", "--since", "HEAD"]) == 0
    assert statuses(repository) == {"new": [], "open": ["src/train.py"], "fixed": []}
    assert report(repository)["changes"]["renamed"] == ["old.py -> src/train.py"]
    assert "- renamed: old.py" in (repository / "reports/latest/gate.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["train", "fit"])
def test_a_function_that_is_moved_or_renamed_brings_nothing(repository: Path, name: str):
    (repository / "old.py").write_text("import torch\n", encoding="utf-8")
    (repository / "loops.py").write_text(FAULTY.replace("def train", f"def {name}"), encoding="utf-8")

    assert main(["run", "--stage", "static", "--since", "HEAD"]) == 0
    assert statuses(repository) == {"new": [], "open": ["loops.py"], "fixed": []}


def test_a_function_that_is_moved_and_repeated_is_new_once(repository: Path):
    """What stood answers for one of them: to copy a fault is to bring one."""
    (repository / "old.py").write_text("import torch\n", encoding="utf-8")
    (repository / "one.py").write_text(FAULTY, encoding="utf-8")
    (repository / "two.py").write_text(FAULTY.replace("def train", "def fit"), encoding="utf-8")

    assert main(["run", "--stage", "static", "--since", "HEAD"]) == 1
    assert [len(paths) for paths in statuses(repository).values()] == [1, 1, 0]


def test_a_function_that_is_moved_and_changed_is_new(repository: Path):
    (repository / "old.py").write_text("import torch\n", encoding="utf-8")
    (repository / "loops.py").write_text(FAULTY.replace("optimizer.zero_grad()", "pass"), encoding="utf-8")

    assert main(["run", "--stage", "static", "--since", "HEAD"]) == 1


def test_what_came_to_the_base_later_is_no_change_of_this_tree(repository: Path):
    """The branch holds a note alone; the base has lost its fault meanwhile, and has won another."""
    committed(repository, ["branch", "-M", "main"], ["checkout", "-q", "-b", "notes"])
    (repository / "NOTES.md").write_text("a note\n", encoding="utf-8")
    committed(repository, ["add", "."], ["commit", "-qm", "note"], ["checkout", "-q", "main"])
    (repository / "old.py").write_text("import torch\n", encoding="utf-8")
    committed(repository, ["commit", "-qam", "mended"], ["checkout", "-q", "notes"])

    assert main(["run", "--stage", "static", "--since", "main"]) == 0
    assert statuses(repository) == {"new": [], "open": ["old.py"], "fixed": []}


def test_a_tree_that_has_nothing_in_common_with_the_base_ends_2(repository: Path, capsys: pytest.CaptureFixture[str]):
    committed(repository, ["branch", "-M", "main"], ["checkout", "-q", "--orphan", "other"], ["commit", "-qm", "other"])

    assert main(["run", "--stage", "static", "--since", "main"]) == 2
    assert "this tree and `main` have no commit in common" in capsys.readouterr().err


def test_versions_that_a_change_says_otherwise_are_told(repository: Path):
    """A pin beside a file decides which rules are about it: nobody may switch one off by it without a word."""
    (repository / "new").mkdir()
    (repository / "new" / "train.py").write_text(FAULTY, encoding="utf-8")
    (repository / "new" / "requirements.txt").write_text("torch==1.12\n", encoding="utf-8")
    main(["run", "--stage", "static", "--since", "HEAD"])
    assert report(repository)["changes"]["precision"][-1] == "torch in new: any -> 1.12"
    assert "- precision: torch in new: any" in (repository / "reports/latest/gate.md").read_text(encoding="utf-8")


def test_a_version_that_many_folders_have_is_told_once():
    before = TreeVersions({"": {"torch": ">=2.5"}})
    after = TreeVersions({"": {"torch": "2.1", "lightning": "2.0"}, "docs": {"torch": ">=2.5"}})
    assert altered_versions(before, after, ["a.py", "b/c.py", "d/e/f.py", "docs/conf.py"]) == (
        "lightning in the root and 2 more folders: any -> 2.0",
        "torch in the root and 2 more folders: >=2.5 -> 2.1",
    )
