"""What is left out of the sources, and that it is git's own answer."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from verifygate.sources import left_out
from verifygate.sources.discovery import read_sources

TREE = (
    "train.py",
    "made.py",
    "data/prepare.py",
    "data/raw/load.py",
    "out/run.py",
    "out/keep.py",
    "pkg/model.py",
    "pkg/out/deep.py",
    "pkg/made.py",
    "pkg/a/b/c/d.py",
    "notes/try [1].py",
    "notes/a b.py",
    "x/made/y.py",
)
LISTS = (
    {"": "made.py\n"},
    {"": "/made.py\n"},
    {"": "out/\n"},
    {"": "/out/\n"},
    {"": "out/**\n!out/keep.py\n"},
    {"": "out/*\n!out/keep.py\n"},
    {"": "out\n!out/keep.py\n"},
    {"": "*\n"},
    {"": "*\n!train.py\n"},
    {"": "*.py\n!/*.py\n"},
    {"": "# made.py\n\\#x\n!\n\\\npkg/**/d.py\n"},
    {"": "pkg/a/**\n"},
    {"": "a/\n"},
    {"": "**/out\n"},
    {"": "/pkg/*/b\n"},
    {"": "notes/*\\[1\\].py\n"},
    {"": "notes/a\\ b.py  \n"},
    {"": "[mn]*e*.py\n"},
    {"": "[!t]*.py\n"},
    {"": "data/\n", "data": "!prepare.py\n"},
    {"": "made*\n", "pkg": "!made.py\n"},
    {"pkg": "/made.py\nout\n"},
    {"pkg/a": "b/\n!b/\n"},
    {"": "made.py\r\nout/\r\n"},
    {"": "!!made.py\nmade.py\n!made.py\nmade\n"},
    {"": "\ufeffmade.py\n"},
    {"": "x\n\ufeffmade.py\n"},
    {"": "never\x0cmade.py\x0b*.py\x85*.py\u2028*.py\r*.py\n"},
    {"": "out/**  \n!out/keep.py\n"},
)


def git(folder: Path, *arguments: str, text: str = "") -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, input=text, capture_output=True, check=False, text=True).stdout


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("lists", LISTS, ids=lambda lists: "; ".join(map(repr, lists.values())))
def test_what_is_ignored_is_what_git_ignores(tmp_path: Path, lists: dict[str, str]):
    git(tmp_path, "init", "-q")
    write(
        tmp_path, dict.fromkeys(TREE, "x = 1\n") | {f"{at}/.gitignore".lstrip("/"): each for at, each in lists.items()}
    )
    ignored = set(git(tmp_path, "check-ignore", "--stdin", "-z", text="\0".join(TREE)).split("\0")) - {""}
    sources = read_sources(tmp_path, ["."])
    assert {file.path for file in sources} == set(TREE) - ignored
    assert sum(each.files for each in sources.left_out) == len(ignored)


def committed(folder: Path, files: dict[str, str]) -> None:
    write(folder, files)
    git(folder, "init", "-q")
    git(folder, "add", "-Af")
    git(folder, "commit", "-qm", "a")


def test_what_git_keeps_is_read_although_it_is_ignored(tmp_path: Path):
    """A list that comes with a change hides nothing that the change commits, nor what is added and not committed."""
    committed(tmp_path, {"train.py": "x = 1\n", ".gitignore": "*\n"})
    write(tmp_path, {"added.py": "x = 1\n", "scratch.py": "x = 1\n"})
    git(tmp_path, "add", "-f", "added.py")
    sources = read_sources(tmp_path, ["."])
    assert [file.path for file in sources] == ["added.py", "train.py"]
    assert sources.left_out == ((".gitignore:1: *", 1, ("scratch.py",)),)


def test_what_git_keeps_is_read_where_a_link_leads_to_it(tmp_path: Path):
    """Git keeps a link, and nothing behind it: a change could commit a program and a link of an ignored name."""
    write(tmp_path, {".gitignore": "data\n", ".kept/train.py": "x = 1\n", ".other/made.py": "x = 1\n"})
    for link in ("data", "pkg/data"):
        (tmp_path / link).parent.mkdir(exist_ok=True)
        (tmp_path / link).symlink_to(tmp_path / ".kept")
    (tmp_path / "pkg" / "more" / "data").mkdir(parents=True)
    (tmp_path / "pkg" / "more" / "data" / "other").symlink_to(tmp_path / ".other")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-f", "data", "pkg", ".kept")
    sources = read_sources(tmp_path, ["."])
    assert [file.path for file in sources] == ["data/train.py", "pkg/data/train.py"]
    assert [each.examples for each in sources.left_out] == [("pkg/more/data/other/made.py",)]


def test_a_pattern_that_many_lists_have_is_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A list in each of many folders would cost all their names times all their patterns."""
    asked: list[str] = []
    monkeypatch.setattr(left_out, "matching", lambda _names, pattern: asked.append(pattern) or [])
    git(tmp_path, "init", "-q")
    write(
        tmp_path, {f"p{number}/{name}": "never.py\n*.log\n" for number in range(5) for name in ("a.py", ".gitignore")}
    )
    assert len(read_sources(tmp_path, ["."])) == 5
    assert asked == ["*.log"]


def test_without_a_repository_everything_is_read(tmp_path: Path):
    """Nobody says there what git keeps."""
    write(tmp_path, {"train.py": "x = 1\n", ".gitignore": "*\n"})
    assert [file.path for file in read_sources(tmp_path, ["."])] == ["train.py"]
    (tmp_path / ".git").mkdir()  # and an empty one is none
    assert [file.path for file in read_sources(tmp_path, ["."])] == ["train.py"]


def test_a_repository_inside_another_has_its_own_lists(tmp_path: Path):
    git(tmp_path, "init", "-q")
    write(tmp_path, {".gitignore": "*.py\n", "top.py": "x = 1\n"})
    committed(tmp_path / "vendored", {"kept.py": "x = 1\n", ".gitignore": "made.py\n"})
    write(tmp_path, {"vendored/made.py": "x = 1\n", "vendored/new.py": "x = 1\n"})
    sources = read_sources(tmp_path, ["."])
    assert [file.path for file in sources] == ["vendored/kept.py", "vendored/new.py"]
    assert [each.rule for each in sources.left_out] == [".gitignore:1: *.py", "vendored/.gitignore:1: made.py"]


def test_what_somebody_names_is_read(tmp_path: Path):
    """A file outright; of a folder all but what its own lists ignore."""
    git(tmp_path, "init", "-q")
    write(tmp_path, {".gitignore": "out/**\n*.log.py\n", "out/a.py": "", "out/made/b.py": "", "x.log.py": ""})
    write(tmp_path, {"out/made/.gitignore": "c.py\n", "out/made/c.py": ""})
    assert [file.path for file in read_sources(tmp_path, ["x.log.py"])] == ["x.log.py"]
    assert [file.path for file in read_sources(tmp_path, ["out"])] == ["out/a.py", "out/made/b.py"]
    assert [file.path for file in read_sources(tmp_path / "out" / "made", ["."])] == ["b.py"]
    assert [file.path for file in read_sources(tmp_path, ["."])] == []


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        (("/legacy/",), {"legacy/a.py", "legacy/deep/b.py"}),
        (("legacy/*",), {"legacy/a.py", "legacy/deep/b.py"}),
        (("train.py",), {"train.py", "tools/train.py"}),
        (("/train.py",), {"train.py"}),
        (("*.py", "!/train.py"), {"legacy/a.py", "legacy/deep/b.py", "tools/train.py"}),
        (("legacy/", "!legacy/a.py"), {"legacy/a.py", "legacy/deep/b.py"}),
        (("**/deep/*",), {"legacy/deep/b.py"}),
    ],
)
def test_patterns_of_the_configuration_are_those_of_a_gitignore(
    tmp_path: Path, exclude: tuple[str, ...], left: set[str]
):
    """A file that is named outright is left out by them, too."""
    files = {"train.py", "tools/train.py", "legacy/a.py", "legacy/deep/b.py"}
    write(tmp_path, dict.fromkeys(files, ""))
    for given in (["."], sorted(files)):
        sources = read_sources(tmp_path, given, exclude)
        assert {file.path for file in sources} == files - left
        assert sum(each.files for each in sources.left_out) == len(left)
    assert all(each.rule.startswith("[project] exclude: ") for each in sources.left_out)


@pytest.mark.parametrize(("exclude", "read"), [(("!/made/",), ["made/a.py"]), (("!*",), ["made/a.py", "out/b.py"])])
def test_the_configuration_takes_in_what_git_ignores(tmp_path: Path, exclude: tuple[str, ...], read: list[str]):
    git(tmp_path, "init", "-q")
    write(tmp_path, {".gitignore": "made/\nout/\n", "made/a.py": "", "out/b.py": ""})
    assert [file.path for file in read_sources(tmp_path, ["."], exclude)] == read


def test_a_list_that_is_none_leaves_nothing_out(tmp_path: Path):
    """A pipe, a folder, a link, what is no pattern, and one that would take a regular expression for ever."""
    git(tmp_path, "init", "-q")
    name = f"{'a' * 200}.py"
    write(
        tmp_path,
        {name: "", ".gitignore": f"\\\n{'*a' * 60}*z.py\n{'*a' * 60}*\n", "p/x.py": "", "f/x.py": "", "l/x.py": ""},
    )
    (tmp_path / "list").write_text("*\n", encoding="utf-8")
    (tmp_path / "l" / ".gitignore").symlink_to(tmp_path / "list")
    os.mkfifo(tmp_path / "p" / ".gitignore")
    (tmp_path / "f" / ".gitignore").mkdir()
    assert len(read_sources(tmp_path, ["."])) == 4
