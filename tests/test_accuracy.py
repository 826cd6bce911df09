"""The measure of the rules on labelled code counts what it should, and nothing else."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from verifygate.cli import main
from verifygate.quality.accuracy import CLASSES, Case, find_checkout, judge, read_cases, table
from verifygate.static.registry import load_rules

FOLDER = Path(__file__).parent / "accuracy"
CASES, CHECKOUTS = FOLDER / "cases.json", FOLDER / "checkouts"


def test_a_bug_is_found_at_its_line_and_clean_code_accused_of_nothing():
    judged, absent = judge(read_cases(CASES), CHECKOUTS)

    assert not absent
    assert [(each.case.path, each.right) for each in judged] == [("train.py", True), ("clean.py", True)]
    assert "recall on bugs: 1 of 1 (100.0 %)" in table(judged, absent)


@pytest.mark.parametrize("change", [{"line": 3}, {"class": "unscale-twice"}])
def test_another_line_or_another_rule_is_a_miss(change: dict[str, object]):
    row = json.loads(CASES.read_text(encoding="utf-8"))[0] | change
    case = Case.model_validate({**row, "label": row["class"]})

    (judged,), _ = judge([case], CHECKOUTS)

    assert not judged.right


@pytest.mark.parametrize(("line", "right"), [(9, True), (20, False)])
def test_a_label_may_name_the_region_around_the_call_of_a_helper_in_another_file(
    tmp_path: Path, line: int, right: bool
):
    """The finding stands at the backward in the helper, and its way leads past the region."""
    folder = tmp_path / "example+loops@0123abcd"
    folder.mkdir()
    (folder / "helper.py").write_text("def back(loss):\n    loss.backward()\n", encoding="utf-8")
    (folder / "train.py").write_text(
        "import torch\nfrom helper import back\n\n\ndef train(model, optimizer, batches):\n    for batch in batches:\n"
        "        optimizer.zero_grad()\n\n        with torch.autocast('cuda', torch.bfloat16):\n"
        "            back(model(batch))\n        optimizer.step()\n",
        encoding="utf-8",
    )
    case = Case(
        repo="example/loops",
        commit="0123abcd4567",
        path="train.py",
        line=line,
        verdict="bug",
        label="backward-under-autocast",
    )

    (judged,), _ = judge([case], tmp_path)

    assert judged.right is right
    assert {finding.path for finding in judged.findings} == ({"helper.py"} if right else set())


@pytest.mark.parametrize(("line", "right"), [(9, True), (18, True), (14, False)])
def test_a_label_may_name_any_of_the_places_that_a_finding_tells(tmp_path: Path, line: int, right: bool):
    """Waits of one loop are one finding: it stands at the first and names the others."""
    read, gap = "        total += loss.item()\n", "        note(batch)\n" * 8
    text = (
        "import torch\n\n\ndef train(model, optimizer, batches, note, total=0.0):\n    for batch in batches:\n"
        "        with torch.autocast('cuda', torch.bfloat16):\n            loss = model(batch)\n"
        "        loss.backward()\n"
        f"{read}{gap}{read}        optimizer.step()\n"
    )
    (tmp_path / "example+loops@0123abcd").mkdir()
    (tmp_path / "example+loops@0123abcd" / "train.py").write_text(text, encoding="utf-8")
    case = Case(
        repo="example/loops", commit="0123abcd", path="train.py", line=line, verdict="bug", label="sync-in-hot-loop"
    )

    (judged,), _ = judge([case], tmp_path)

    assert judged.right is right


@pytest.mark.parametrize("left", [0, 1])
def test_a_fault_with_its_fix_is_found_before_and_gone_after(tmp_path: Path, left: int):
    loop = "    for batch in batches:\n        scaler.scale(model(batch)).backward()\n        scaler.step(optimizer)\n"
    head = "from torch.amp import GradScaler\n\n\ndef train(model, optimizer, batches):\n    scaler = GradScaler()\n"
    mended = f"{head}{loop}        scaler.update()\n{loop * left}"
    for commit, text in (("0123abcd", head + loop), ("4567abcd", mended)):
        (tmp_path / f"example+loops@{commit}").mkdir()
        (tmp_path / f"example+loops@{commit}" / "train.py").write_text(text, encoding="utf-8")
    row = {"repo": "example/loops", "path": "train.py", "class": "missing-update", "line_before": 8}
    cases = tmp_path / "pairs.json"
    cases.write_text(json.dumps([row | {"before_commit": "0123abcd", "after_commit": "4567abcd"}]), encoding="utf-8")

    judged, absent = judge(read_cases(cases), tmp_path)

    assert not absent
    assert [(each.case.verdict, each.right) for each in judged] == [("bug", True), ("fixed", not left)]
    assert f"fixed rows in which the fault is still reported: {left} of 1" in table(judged, absent)


def test_a_fault_in_code_that_is_called_clean_is_a_false_alarm_unless_exempt():
    row = json.loads(CASES.read_text(encoding="utf-8"))[1] | {"path": "train.py"}
    case = Case.model_validate({**row, "label": row["class"]})

    (accused,), _ = judge([case], CHECKOUTS)
    (exempt,), _ = judge([case.model_copy(update={"exempt": ("clip-before-unscale",)})], CHECKOUTS)

    assert [finding.rule for finding in accused.findings] == ["AMP201"]
    assert exempt.right


def test_a_git_repository_is_read_at_the_labelled_commit(tmp_path: Path):
    """The commit's files count, whatever lies in the working tree."""
    repo = tmp_path / "example+loops"
    repo.mkdir()
    git = ["git", "-C", str(repo), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    (repo / "train.py").write_text("x = 1\n", encoding="utf-8")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (repo / "train.py").write_text("x = 2\n", encoding="utf-8")

    sources = find_checkout(tmp_path, "example/loops", commit)

    assert sources is not None
    assert [file.data for file in sources] == [b"x = 1\n"]


def test_every_class_stands_for_rules_that_exist():
    assert {rule for rules in CLASSES.values() for rule in rules} <= set(load_rules())


def test_a_missing_checkout_is_told_and_ends_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["accuracy", "--cases", str(CASES), "--checkouts", str(tmp_path)]) == 2
    assert "no checkout for 2 rows: example/loops@0123abcd" in capsys.readouterr().out
