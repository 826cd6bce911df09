"""Programs that lie where no walk looks, and that a source of the tree runs: listed, and blocking with AMP in them."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from verifygate.config.rule_selection import RuleSelection
from verifygate.sources.discovery import read_sources
from verifygate.static.engine import analyse

LOOP = """\
def step(scaler, optimizer, loss):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
HIDDEN = {
    "module path": ("train.py", "sys.path.insert(0, '.engine')\nfrom loop import step\n", ".engine/loop.py"),
    "joined path": ("train.py", "sys.path.append(str(HERE / '.engine' / 'core'))", ".engine/core/loop.py"),
    "package in it": ("train.py", "sys.path.insert(0, '.engine')\nimport deep.loop", ".engine/deep/loop.py"),
    "from a folder above": ("pkg/sub/train.py", "sys.path.append(join(HERE, '..', '.engine'))", "pkg/.engine/loop.py"),
    "by a conftest": ("tests/conftest.py", "sys.path.insert(0, '.engine')", ".engine/loop.py"),
    "addsitedir": ("train.py", "site.addsitedir('__pypackages__')", "__pypackages__/loop.py"),
    "text": ("train.py", "exec(open('loop.txt').read())", "loop.txt"),
    "text by a variable": ("train.py", "NAME = 'loop.dat'\nexec((DATA / 'data' / NAME).read_text())", "data/loop.dat"),
    "run_path": ("train.py", "runpy.run_path('scripts/loop')", "scripts/loop"),
    "loader": ("train.py", "importlib.machinery.SourceFileLoader('loop', 'loop.tmpl').load_module()", "loop.tmpl"),
    "hidden file": ("train.py", "importlib.util.spec_from_file_location('loop', '.cache/loop.py')", ".cache/loop.py"),
    "process": ("train.py", "subprocess.run([sys.executable, 'loop.txt'])", "loop.txt"),
    "node_modules": ("train.py", "from node_modules.loop import step", "node_modules/loop.py"),
    "build": ("train.py", "import build.lib.loop as loop", "build/lib/loop.py"),
    "environment": ("train.py", "from engine import loop", "engine/loop.py"),
}  # fmt: skip
"""Way -> the file that names a program, its text, and the program."""

HONEST = {
    "nothing names it": ("train.py", "sys.path.insert(0, 'lib')", ".engine/loop.py"),
    "named and not run": ("train.py", "print(open('loop.txt').read())", "loop.txt"),
    "a sample of a test": ("tests/test_loop.py", "exec(open('tests/loop.txt').read())", "tests/loop.txt"),
    "a module called build": ("train.py", "from build import lib\nbuild.loop()", "build/lib/loop.py"),
    "installed": ("train.py", "sys.path.insert(0, 'engine')", "engine/lib/site-packages/loop.py"),
    "outside": ("train.py", "exec(open('../loop.txt').read())", "../loop.txt"),
}  # fmt: skip
"""The same, of what must stay silent."""

TEXTS = {
    "a page": "Call `scaler.step(optimizer)` after exec(compile()).\n",
    "settings": "fp16 = True\namp = {'dtype': 'float16'}\n",
    "YAML": "amp: true\nfp16: true\n",
    "HTML in a string": "print('&amp;')\n",
    "no AMP": "print('hello')\n",
}


def write(root: Path, path: str, text: str) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def told(root: Path) -> dict[str, str]:
    result = analyse(read_sources(root, ["."]), RuleSelection())
    return {each.path: each.reason for each in result.not_analysed if each.mentions_amp}


def tree(tmp_path: Path, naming: str, text: str, program: str) -> Path:
    root = tmp_path / "root"
    write(root, "engine/pyvenv.cfg", "home = /usr/bin\n")
    write(root, naming, f"{text}\n")
    write(root, program, LOOP)
    return root


@pytest.mark.parametrize("way", HIDDEN)
def test_a_program_that_a_source_names_is_accounted_for(tmp_path: Path, way: str) -> None:
    naming, text, program = HIDDEN[way]
    ((path, reason),) = told(tree(tmp_path, naming, text, program)).items()
    assert path == program
    assert f"is a program that {naming} names" in reason


@pytest.mark.parametrize("way", HONEST)
def test_what_nothing_runs_is_not(tmp_path: Path, way: str) -> None:
    assert told(tree(tmp_path, *HONEST[way])) == {}


@pytest.mark.parametrize("kind", TEXTS)
def test_what_is_no_program_of_amp_is_not(tmp_path: Path, kind: str) -> None:
    root = tree(tmp_path, "train.py", "exec(open('loop.txt').read())", "loop.txt")
    write(root, "loop.txt", TEXTS[kind])
    assert told(root) == {}


def test_an_archive_on_the_module_path(tmp_path: Path) -> None:
    write(tmp_path, "train.py", "import sys\n\nsys.path.insert(0, 'parts.zip')\n")
    with zipfile.ZipFile(tmp_path / "parts.zip", "w") as archive:
        archive.writestr("loop.py", LOOP)
    assert list(told(tmp_path)) == ["parts.zip"]
    write(tmp_path, "parts.zip", "no archive")
    assert told(tmp_path) == {}


def test_bytecode_on_the_module_path(tmp_path: Path) -> None:
    write(tmp_path, "train.py", "import sys\n\nsys.path.insert(0, '.engine')\n")
    file = write(tmp_path, ".engine/loop.py", f"from torch.amp import GradScaler\n\n\n{LOOP}")
    py_compile.compile(str(file), cfile=str(tmp_path / ".engine/loop.pyc"))
    file.unlink()
    assert list(told(tmp_path)) == [".engine/loop.pyc"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\npythonpath = src .engine\n"),
        ("pytest.ini", "[pytest]\npythonpath =\n    src\n    .engine\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\npythonpath = ["src", ".engine"]\n'),
    ],
)
def test_a_folder_that_pytest_puts_on_the_module_path(tmp_path: Path, name: str, text: str) -> None:
    root = tree(tmp_path, "train.py", "from loop import step", ".engine/loop.py")
    assert told(root) == {}
    write(root, name, text)
    assert list(told(root)) == [".engine/loop.py"]


def test_what_the_policy_names_is_read_and_what_it_excludes_is_not_told(tmp_path: Path) -> None:
    root = tree(tmp_path, *HIDDEN["module path"])
    named = read_sources(root, [".", ".engine"])
    assert (named.unreadable, [file.path for file in named]) == ((), [".engine/loop.py", "train.py"])
    assert read_sources(root, ["."], [".engine/*"]).unreadable == ()


def test_a_copy_of_what_is_read_is_no_other_program(tmp_path: Path) -> None:
    root = tree(tmp_path, "setup.py", "sys.path.insert(0, 'build')", "build/lib/pkg/loop.py")
    write(root, "pkg/loop.py", LOOP)
    assert told(root) == {}
    write(root, "pkg/loop.py", f"{LOOP}\n\nTIMES = 2\n")
    assert list(told(root)) == ["build/lib/pkg/loop.py"]


def test_what_git_ignores_did_not_come_with_the_tree(tmp_path: Path) -> None:
    root = tree(tmp_path, *HIDDEN["module path"])
    write(root, ".gitignore", ".engine/\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    assert told(root) == {}
    subprocess.run(["git", "-C", str(root), "add", "-f", ".engine"], check=True)
    assert list(told(root)) == [".engine/loop.py"]


def test_pipes_and_devices_are_not_opened(tmp_path: Path) -> None:
    """They have no end, or wait for one who writes."""
    naming = 'import sys\nsys.path[:0] = [".engine", "packed.zip"]\nexec(open("loop.txt").read())\n'
    write(tmp_path, "train.py", naming)
    (tmp_path / ".engine").mkdir()
    for name in ("loop.txt", ".engine/pipe.py"):
        os.mkfifo(tmp_path / name)
    for name in ("packed.zip", ".engine/zero.py"):
        (tmp_path / name).symlink_to("/dev/zero")
    command = [sys.executable, "-m", "verifygate", "check", "--no-cache", "."]
    assert subprocess.run(command, cwd=tmp_path, timeout=600).returncode == 0
