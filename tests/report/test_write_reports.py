"""A reader finds a whole report or none, and never loses a file that is not ours."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from verifygate.base import owned_folders
from verifygate.base.errors import UsageError
from verifygate.base.owned_folders import unused_name
from verifygate.report.write import refuse_unusable, write_reports

FIRST = {"gate.md": "first\n", "report.json": "{}\n"}


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_makes_the_folder(tmp_path: Path) -> None:
    """Parents too, and nothing but the report is left beside it."""
    write_reports(FIRST, tmp_path / "reports" / "latest")
    assert contents(tmp_path / "reports" / "latest") == FIRST
    assert [path.name for path in (tmp_path / "reports").iterdir()] == ["latest"]


def test_replaces_the_earlier_report_whole(tmp_path: Path) -> None:
    """A file that only the earlier run made is gone: it would speak of another run."""
    write_reports(FIRST, tmp_path / "r")
    write_reports({"gate.md": "second\n"}, tmp_path / "r")
    assert contents(tmp_path / "r") == {"gate.md": "second\n"}
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_a_report_is_nothing_for_git_to_keep(tmp_path: Path) -> None:
    """Where it is asked for, and where it was so before. A file of that name with another text is a stranger's."""
    write_reports(FIRST, tmp_path / "r", ignored=True)
    assert contents(tmp_path / "r") == {**FIRST, ".gitignore": "*\n"}
    write_reports({"gate.md": "second\n"}, tmp_path / "r")
    assert contents(tmp_path / "r") == {"gate.md": "second\n", ".gitignore": "*\n"}
    (tmp_path / "r" / ".gitignore").write_text("!gate.md\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"holds `\.gitignore`"):
        write_reports(FIRST, tmp_path / "r", ignored=True)


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    """A folder somebody made beforehand is as good as none."""
    (tmp_path / "r").mkdir()
    write_reports(FIRST, tmp_path / "r")
    assert contents(tmp_path / "r") == FIRST


def test_foreign_files_are_kept(tmp_path: Path) -> None:
    """`--report-dir src` costs a message, not the sources."""
    (tmp_path / "train.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"train\.py"):
        write_reports(FIRST, tmp_path)
    assert contents(tmp_path) == {"train.py": "x = 1\n"}


@pytest.mark.parametrize("make", ["file", "link"])
def test_a_name_that_is_no_folder_is_refused(tmp_path: Path, make: str) -> None:
    """Neither a file nor a link is replaced."""
    target = tmp_path / "r"
    if make == "file":
        target.write_text("mine", encoding="utf-8")
    else:
        (tmp_path / "elsewhere").mkdir()
        target.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="not a folder"):
        write_reports(FIRST, target)
    assert target.is_symlink() or target.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_failure_leaves_the_earlier_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, call: str
) -> None:
    """Disk full, no permission, read-only: one line for the user, the old files untouched, no litter."""
    write_reports(FIRST, tmp_path / "r")
    rename = os.rename
    count = 0

    def fail(*args: object, **kwargs: object) -> None:
        nonlocal count
        count += 1
        if call == "rename" and count != 2:  # the second rename of the swap is the delicate one
            return rename(*args, **kwargs)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(UsageError) as caught:
        write_reports({"gate.md": "second\n"}, tmp_path / "r")
    assert "\n" not in str(caught.value)
    assert os.strerror(number) in str(caught.value)
    assert str(caught.value).startswith(f"{(tmp_path / 'r').as_posix()}: ")
    assert contents(tmp_path / "r") == FIRST
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_a_run_killed_while_writing_leaves_the_earlier_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stops it before the swap, the folder holds the old report whole."""
    write_reports(FIRST, tmp_path / "r")

    def killed(_descriptor: int) -> None:
        assert contents(tmp_path / "r") == FIRST
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        write_reports({"gate.md": "second\n"}, tmp_path / "r")
    assert contents(tmp_path / "r") == FIRST


def test_line_ends_and_odd_characters(tmp_path: Path) -> None:
    """UTF-8 with `\\n` on every platform, and a lone surrogate never stops the report."""
    write_reports({"gate.md": "a\nµ\udce9\n"}, tmp_path / "r")
    assert (tmp_path / "r" / "gate.md").read_bytes() == b"a\n\xc2\xb5\\udce9\n"


def left_by_a_killed_run(folder: Path, name: str) -> Path:
    """What a run that was killed while it wrote leaves beside the reports."""
    aside = unused_name(folder.parent, f".{folder.name}-")
    (aside / name).mkdir(parents=True)
    (aside / name / "gate.md").write_text(f"{name}\n", encoding="utf-8")
    return aside


@pytest.mark.parametrize("call", [refuse_unusable, lambda folder: write_reports(FIRST, folder)])
def test_what_a_killed_run_left_beside_the_report_goes(tmp_path: Path, call: Callable[[Path], None]) -> None:
    write_reports(FIRST, tmp_path / "r")
    left_by_a_killed_run(tmp_path / "r", "new")
    (tmp_path / ".r-notes").mkdir()
    owned_folders._swept.clear()  # as in a process of its own
    call(tmp_path / "r")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".r-notes", "r"]
    assert contents(tmp_path / "r") == FIRST


def test_a_report_whose_swap_was_killed_halfway_is_put_back(tmp_path: Path) -> None:
    left_by_a_killed_run(tmp_path / "r", "old")
    refuse_unusable(tmp_path / "r")
    assert contents(tmp_path / "r") == {"gate.md": "old\n"}
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_two_that_write_at_once_both_succeed(tmp_path: Path) -> None:
    """The report is that of one of them, whole; what the other one put there between the two renames is replaced."""
    both = [{"gate.md": f"{name}\n", "report.json": f"{name}\n"} for name in ("one", "two")]

    def write(files: dict[str, str]) -> None:
        for _ in range(100):
            write_reports(files, tmp_path / "r")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, both))
    assert contents(tmp_path / "r") in both
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_an_interrupt_between_the_two_renames_leaves_the_earlier_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_reports(FIRST, tmp_path / "r")
    rename = os.rename

    def interrupted(source: Path, target: Path) -> None:
        if Path(source).name == "new":
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_reports({"gate.md": "second\n"}, tmp_path / "r")
    assert contents(tmp_path / "r") == FIRST
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
