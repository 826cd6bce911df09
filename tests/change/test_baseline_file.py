"""The baseline file: what it holds is counted and does not block, what is gone is stale, what is added is shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifygate.baseline_file import Entry, parse, text_of
from verifygate.cli import main

NAMED = '[verdict]\nbaseline = "verifygate-baseline.toml"\n'
SOUND = """\
import torch


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
"""
"""AMP code with nothing to report: a tree without any is no PASS."""


@pytest.fixture
def agreed(repository: Any) -> Any:
    """The repository with its old fault in the baseline file."""
    repository.write("verifygate.toml", NAMED)
    assert main(["baseline", "write"]) == 0
    repository.commit()
    return repository


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)


@given(st.lists(st.builds(Entry, texts, texts, texts, texts, st.just("high"), st.just("static"), texts), max_size=5))
def test_a_baseline_file_says_what_was_written(entries: list[Entry]):
    """Whatever a source line holds."""
    assert parse(text_of(entries).encode(), "b.toml") == tuple(sorted(entries))


def test_an_entry_is_a_line_and_holds_no_line_number(agreed: Any, capsys: pytest.CaptureFixture[str]):
    text = (agreed.folder / "verifygate-baseline.toml").read_text(encoding="utf-8")
    assert text.startswith("# Baseline of verifygate, 1 finding: 1 critical.")
    (row,) = (line for line in text.splitlines() if line.startswith("  {"))
    assert '{path = "old.py", rule = "AMP201", function = "train", text = "torch.nn.utils.clip_grad_norm_(' in row
    agreed.write("old.py", "# a note\n\n" + (agreed.folder / "old.py").read_text(encoding="utf-8"))
    capsys.readouterr()
    assert main(["baseline", "write"]) == 0
    assert "1 entry; 0 added, 0 gone" in capsys.readouterr().out
    assert (agreed.folder / "verifygate-baseline.toml").read_text(encoding="utf-8") == text


def test_what_is_in_it_is_counted_and_does_not_block(agreed: Any, capsys: pytest.CaptureFixture[str]):
    assert main(["check"]) == 0
    assert "1 in the baseline verifygate-baseline.toml" in capsys.readouterr().out
    assert main(["run", "--stage", "static"]) == 0
    told = "1 finding of this run in verifygate-baseline.toml, not blocking; it has 1 entry"
    assert told in capsys.readouterr().out
    assert f"**Baseline:** {told}" in agreed.page
    assert "baseline" in agreed.page[agreed.page.index("**Not the default policy:**") :]
    assert agreed.report["stages"][0]["findings"], "it is reported all the same"


def test_what_is_not_in_it_blocks(agreed: Any):
    agreed.write("new.py", (agreed.folder / "old.py").read_text(encoding="utf-8"))
    assert main(["check"]) == 1
    assert main(["run", "--stage", "static"]) == 1
    assert [reason["path"] for reason in agreed.report["reasons"]] == ["new.py"]


def test_what_is_gone_is_stale(agreed: Any, capsys: pytest.CaptureFixture[str]):
    assert main(["baseline", "check"]) == 0
    agreed.write("old.py", SOUND)
    capsys.readouterr()

    assert main(["baseline", "check"]) == 1
    assert "stale: old.py: AMP201 in train: torch.nn.utils" in (told := capsys.readouterr().out)
    assert "1 entry; 1 stale; `verifygate baseline prune` takes them out" in told
    assert main(["run", "--stage", "static"]) == 0
    assert "0 findings of this run" in (told := capsys.readouterr().out)
    assert "1 stale" in told
    assert main(["baseline", "prune"]) == 0
    assert main(["baseline", "check"]) == 0
    assert "AMP201" not in (agreed.folder / "verifygate-baseline.toml").read_text(encoding="utf-8")


def test_prune_adds_nothing(agreed: Any):
    agreed.write("new.py", (agreed.folder / "old.py").read_text(encoding="utf-8"))
    assert main(["baseline", "prune"]) == 0
    assert main(["check"]) == 1


def test_a_file_that_cannot_be_analysed_makes_nothing_stale(agreed: Any, capsys: pytest.CaptureFixture[str]):
    agreed.write("old.py", "def f(:\n")
    assert main(["baseline", "check"]) == 0
    assert "1 entry not looked for" in capsys.readouterr().out


def test_a_change_does_not_hide_what_it_brings(agreed: Any, capsys: pytest.CaptureFixture[str]):
    """What it adds to the file is not in force before it is merged, and stands beside the policy."""
    agreed.git("checkout", "-qb", "change")
    agreed.write("new.py", (agreed.folder / "old.py").read_text(encoding="utf-8"))
    assert main(["baseline", "write"]) == 0
    agreed.commit()
    capsys.readouterr()

    assert main(["run", "--stage", "static", "--since", "main"]) == 1
    assert "baseline file: new.py: AMP201 in train: torch.nn" in (told := capsys.readouterr().out)
    assert "in it in this change, not in it there" in told
    assert [reason["path"] for reason in agreed.report["reasons"]] == ["new.py"]
    assert main(["run", "--stage", "static", "--since", "main", "--accept-policy"]) == 0
    assert "baseline file: new.py" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("version = 2\n", "not a baseline file of version 1"),
        ("version = 1\nfindings = [\n", "not valid TOML"),
        ("version = 1\nfindings = [{rule = 1}]\n", "entry 1 has not the fields path, rule,"),
        ("version = 1\nmore = 1\n", "holds more than"),
    ],
)
def test_a_broken_baseline_file_ends_2(agreed: Any, text: str, told: str, capsys: pytest.CaptureFixture[str]):
    agreed.write("verifygate-baseline.toml", text)
    for command in (["check", "--no-cache"], ["run", "--stage", "static"], ["baseline", "check"]):
        assert main(command) == 2
        error = capsys.readouterr().err
        assert told in error
        assert "`verifygate baseline write` makes one" in error


def test_a_baseline_file_that_is_not_there_ends_2(repository: Any, capsys: pytest.CaptureFixture[str]):
    repository.write("verifygate.toml", NAMED)
    for command in (["check"], ["run", "--stage", "static"], ["baseline", "check"]):
        assert main(command) == 2
        assert "verifygate-baseline.toml: cannot be read: No such file" in capsys.readouterr().err


def test_a_baseline_file_lies_in_the_project(repository: Any, capsys: pytest.CaptureFixture[str]):
    repository.write("verifygate.toml", '[verdict]\nbaseline = "../b.toml"\n')
    assert main(["check"]) == 2
    assert "name a .toml file below the configuration's folder" in capsys.readouterr().err


def test_a_suppression_that_a_change_adds_stands_beside_the_policy(repository: Any, capsys: pytest.CaptureFixture[str]):
    """The finding leaves the count, is shown, and blocks; one that stood before is none of the change's."""
    repository.git("checkout", "-qb", "change")
    faulty = (repository.folder / "old.py").read_text(encoding="utf-8")
    quiet = faulty.replace("1.0)", "1.0)  # verifygate: ignore[AMP201] the scale is one here")
    repository.commit(new__py=quiet)

    assert main(["run", "--stage", "static", "--since", "main"]) == 1
    assert "suppressed    by this change: new.py:8: AMP201: the scale is one here" in capsys.readouterr().out
    head = repository.page[: repository.page.index("| Stage |")]
    assert "**Suppressions that this change adds** (1):" in head
    assert main(["run", "--stage", "static", "--since", "HEAD"]) == 0
    assert "by this change" not in capsys.readouterr().out


def test_a_renamed_file_keeps_its_entries(agreed: Any, capsys: pytest.CaptureFixture[str]):
    """Without a revision to ask git about: the text of the line tells, where the recorded file is gone."""
    agreed.git("mv", "old.py", "training.py")
    capsys.readouterr()
    assert main(["check"]) == 0
    assert "1 in the baseline" in capsys.readouterr().out
    assert main(["run", "--stage", "static"]) == 0
    assert main(["baseline", "check"]) == 0
    assert main(["baseline", "prune"]) == 0
    assert 'path = "training.py"' in (agreed.folder / "verifygate-baseline.toml").read_text(encoding="utf-8")


def test_a_copy_is_no_renamed_file(agreed: Any):
    """The recorded file is still there: what stands beside it is new. Two copies of a file that is gone are, too."""
    text = (agreed.folder / "old.py").read_text(encoding="utf-8")
    agreed.write("copy.py", text)
    assert main(["check"]) == 1
    agreed.write("other.py", text)
    (agreed.folder / "old.py").unlink()
    assert main(["check"]) == 1
