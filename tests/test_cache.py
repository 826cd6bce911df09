"""Answers of `check` that are kept: given again only to the same question about the same files."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from verifygate.base import answer_store, cache_folder
from verifygate.check import answer_cache
from verifygate.cli import main
from verifygate.static import engine

CLIPS = """from torch.amp import GradScaler
import torch

def train(model, optimizer, loader):
    scaler = GradScaler()
    for batch in loader:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
RIGHT = CLIPS.replace("        torch.nn", "        scaler.unscale_(optimizer)\n        torch.nn")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".git").mkdir()
    (folder / "train.py").write_text(CLIPS, encoding="utf-8")
    (folder / "other.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each analysis that is really made."""
    made: list[int] = []
    real = engine.analyse

    def counted(*given, **named):  # type: ignore[no-untyped-def]
        made.append(1)
        return real(*given, **named)

    monkeypatch.setattr(engine, "analyse", counted)
    return made


def answers() -> list[Path]:
    return sorted(Path(os.environ[cache_folder.VARIABLE]).glob("*.json"))


@pytest.mark.parametrize("options", [[], ["--format", "json"], ["--format", "sarif"], ["--select", "AMP5"]])
def test_the_same_question_gets_the_same_bytes_without_an_analysis(
    project: Path, analysed: list[int], capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    first = main(["check", *options]), capsys.readouterr()
    again = main(["check", *options]), capsys.readouterr()
    assert again == first
    assert len(analysed) == 1
    assert main(["check", *options, "--no-cache"]) == first[0]
    assert capsys.readouterr() == first[1]
    assert len(analysed) == 2


def edit(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "train.py").write_text(text, encoding="utf-8")


CHANGES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "a file": (edit(RIGHT), []),
    "one byte of a comment": (edit(CLIPS + "#"), []),
    "a file that is beside the point": (lambda folder: (folder / "other.py").write_text("x = 2\n"), []),
    "a file's name": (lambda folder: (folder / "other.py").rename(folder / "others.py"), []),
    "one file less": (lambda folder: (folder / "other.py").unlink(), []),
    "one file more": (lambda folder: (folder / "new.py").write_text(""), []),
    "the format": (lambda _: None, ["--format", "github"]),
    "the rules": (lambda _: None, ["--select", "AMP2"]),
    "the rules left out": (lambda _: None, ["--ignore", "AMP2"]),
    "the paths": (lambda _: None, ["train.py"]),
    "a configuration": (lambda folder: (folder / "verifygate.toml").write_text("[static]\nignore = ['AMP201']\n"), []),
    "the torch that is required": (
        lambda folder: (folder / "pyproject.toml").write_text("[project]\ndependencies = ['torch>=2.1']\n"),
        [],
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_is_looked_at(
    project: Path, analysed: list[int], capsys: pytest.CaptureFixture[str], change: str
) -> None:
    main(["check"])
    make, options = CHANGES[change]
    make(project)
    capsys.readouterr()
    code = main(["check", *options])
    assert len(analysed) == 2
    printed = capsys.readouterr()
    assert main(["check", *options, "--no-cache"]) == code
    assert capsys.readouterr() == printed


def test_the_program_itself_is_part_of_the_key(
    project: Path, analysed: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another version of a rule, of Python or of an installed package may see what the last one did not."""
    main(["check"])
    copy = tmp_path / "verifygate"
    (copy / "static").mkdir(parents=True)
    (copy / "cache.py").write_text("")
    (copy / "static" / "rule.py").write_text("old = 1")
    monkeypatch.setattr(answer_cache, "__file__", str(copy / "cache.py"))
    main(["check"])
    (copy / "static" / "rule.py").write_text("new = 1")
    main(["check"])
    monkeypatch.setattr(sys, "version", sys.version + "+")
    main(["check"])
    (tmp_path / "site" / "libcst-99.0.dist-info").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site")])
    main(["check"])
    assert len(analysed) == 5
    main(["check"])
    assert len(analysed) == 5


def test_what_a_configuration_names_is_looked_for_each_time(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "spec.yaml").write_text("")
    (project / "verifygate.toml").write_text("[requirements]\nspec = 'spec.yaml'\n")
    assert main(["check"]) == main(["check"]) == 1
    (project / "spec.yaml").unlink()
    assert main(["check"]) == 2
    assert "does not exist" in capsys.readouterr().err


def forge(change: Callable[[dict[str, object]], object]) -> Callable[[Path], object]:
    def forged(file: Path) -> None:
        kept = json.loads(file.read_text())
        change(kept)
        file.write_text(json.dumps(kept))

    return forged


DAMAGE: dict[str, Callable[[Path], object]] = {
    "cut short": lambda file: file.write_bytes(file.read_bytes()[:-20]),
    "empty": lambda file: file.write_bytes(b""),
    "no JSON": lambda file: file.write_bytes(b"\xff\xfe"),
    "a list": lambda file: file.write_bytes(b"[]"),
    "another exit code": forge(lambda kept: kept.update(code=0)),
    "another text": forge(lambda kept: kept.update(out="No findings in 2 files.\n")),
    "another file not analysed": forge(lambda kept: kept.update(lost=["verifygate: not analysed: other.py"])),
    "another key": forge(lambda kept: kept.update(key="0" * 64)),
    "writable for others": lambda file: file.chmod(0o666),
    "in a folder that is": lambda file: file.parent.chmod(0o777),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_an_answer_that_is_not_as_it_was_written_is_none(
    project: Path, analysed: list[int], capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    first = main(["check"]), capsys.readouterr()
    (file,) = answers()
    DAMAGE[damage](file)
    assert (main(["check"]), capsys.readouterr()) == first
    assert len(analysed) == 2


def test_an_answer_under_the_name_of_another_is_none(project: Path, analysed: list[int]) -> None:
    """Right in itself, and to another question."""
    assert main(["check"]) == 1
    edit(RIGHT)(project)
    assert main(["check"]) == 0
    one, other = answers()
    before = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(before)
    assert main(["check"]) == 0
    assert len(analysed) == 3


def test_a_tree_brings_no_answers_of_its_own(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main(["check"])
    assert sorted(path.name for path in project.iterdir()) == [".git", "other.py", "train.py"]
    monkeypatch.delenv(cache_folder.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(project.parent / "home"))
    folder = answer_store._folder()
    assert folder is not None
    assert folder.is_relative_to(project.parent / "home")


@pytest.mark.parametrize(
    ("broken", "code"), [("import torch\ndef f(:\n", 1), ("from torch.amp import autocast\ndef f(:\nmain()\n", 2)]
)
def test_what_is_no_python_is_told_again(
    project: Path, analysed: list[int], capsys: pytest.CaptureFixture[str], broken: str, code: int
) -> None:
    """A large tree has such a file: its bytes say that it is none, as they say all else."""
    (project / "broken.py").write_text(broken, encoding="utf-8")
    (project / "test_it.py").write_text("import broken\n", encoding="utf-8")
    first = main(["check"]), capsys.readouterr()
    assert first[0] == code
    assert "not analysed: broken.py: line 2" in first[1].err
    assert (main(["check"]), capsys.readouterr()) == first
    assert len(analysed) == 1


def test_nothing_is_kept_while_a_file_cannot_be_read(project: Path, analysed: list[int]) -> None:
    """It may be readable tomorrow, without any change to it."""
    (project / os.fsdecode(b"\xff.py")).write_text("", encoding="utf-8")
    assert main(["check"]) == main(["check"]) == 2
    assert len(analysed) == 2
    assert answers() == []


@pytest.mark.parametrize("place", ["file", "no home"])
def test_where_nothing_can_be_kept_all_is_worked_out(
    project: Path, analysed: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").write_text("")
    if place == "file":
        monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path / "file"))
    else:
        for name in (cache_folder.VARIABLE, "HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
    assert main(["check"]) == main(["check"]) == 1
    assert len(analysed) == 2


def test_what_was_asked_for_last_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_store, "MAX_ANSWERS", 3)
    for number in range(4):
        answer_store.keep(f"{number:064}", answer_store.CheckOutput(("text",), 0))
        os.utime(answers()[-1], (number, number))
        if number == 2:
            assert answer_store.recall(f"{0:064}") is not None  # asked for now, so it stays
    assert [int(path.stem) for path in answers()] == [0, 2, 3]


def test_timings_tell_where_the_time_went(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr, so that what is read from stdout stays what it is; the parts add up."""
    main(["check", "--no-cache"])
    plain = capsys.readouterr()
    main(["check", "--no-cache", "--timings"])
    timed = capsys.readouterr()
    assert timed.out == plain.out
    rows = re.findall(r"^ *([\d.]+) s +(?:([\d.]+)%)? +(.+)$", timed.err, re.MULTILINE)
    *table, memory = timed.err.splitlines()
    assert len(rows) == len(table)
    assert float(re.fullmatch(r" *([\d.]+) MiB +memory at its peak", memory)[1]) > 10
    *parts, (whole, _, total) = rows
    assert total == "CPU time in all"
    assert sum(float(seconds) for seconds, _, _ in parts) == pytest.approx(float(whole), abs=0.001 * len(rows))
    assert "start: Python and imports" in {name for _, _, name in parts}
    main(["check", "--timings"])
    capsys.readouterr()
    main(["check", "--timings"])
    assert "parse" not in capsys.readouterr().err
