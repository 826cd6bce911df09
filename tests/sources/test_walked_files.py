"""Whether a path is one that a walk of the project would read: asked of texts that are on no disk yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.sources.discovery import is_noted, is_walked, read_sources

PATHS = (
    "train.py",
    "package/deep/model ä.py",
    ".hidden.py",
    ".venv/lib/thing.py",
    "build/lib/copy.py",
    "node_modules/x/y.py",
    "env/lib/installed.py",
    "notes.txt",
    "generated/made.py",
    "builder/step.py",
)


@pytest.mark.parametrize("exclude", [(), ("generated/*",)])
def test_it_says_what_a_walk_reads(tmp_path: Path, exclude: tuple[str, ...]):
    for path in PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "env" / "pyvenv.cfg").touch()
    read = {file.path for file in read_sources(tmp_path, (".",), exclude)}
    assert {path for path in PATHS if is_walked(tmp_path, path, exclude)} == read
    assert {"train.py", "package/deep/model ä.py"} < read < set(PATHS)
    assert is_walked(tmp_path, "package/not_yet_there.py", exclude)


def test_it_says_which_configurations_a_walk_notes(tmp_path: Path):
    noted = {".github/workflows/ci.yml", ".gitlab-ci.yml", "a.yml", "conf/b.toml", "folder.yml/c.json", "run.sh"}
    others = {".github/other.yml", ".conf/a.yml", "build/a.yml", "conf/.hidden.yml", "notes.txt"}
    for path in noted | others:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x: 1\n", encoding="utf-8")
    (tmp_path / "a.py").touch()
    for named, more in ((".",), set()), ((".", ".conf"), {".conf/a.yml"}), ((".", "build/a.yml"), {"build/a.yml"}):
        read = read_sources(tmp_path, named)
        assert {each.path for each in read.configuration} == noted | more
        assert not read.unreadable  # a folder is no file, whatever its name
        assert {path for path in noted | others if is_noted(tmp_path, path, named)} == noted | more
