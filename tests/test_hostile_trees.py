"""Trees in which a name stands for something else than a file: no command waits for it, or fills the memory with it.

The names are those that the commands were seen to open (`test_each_input_is_opened_by_the_reader`).
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from special_files import device, huge, listening, pipe

from verifygate.base import regular_files
from verifygate.cli import main

LIMIT_S = 120
"""Of a command that takes a second or two: none may wait for a pipe, which has no end."""
MEMORY = 2 << 30
"""Bytes of address space that a command may take: a device has no end either."""
TRAIN = """import torch


def train(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
CONFIG = """[requirements]
spec = "requirements/spec.yaml"
junit = [{file = "results.xml"}]

[verdict]
baseline = "old.toml"
"""
SPEC = """title: A
requirements:
  - {id: R-A, title: A, text: A, group: other, severity: low, verify: [{construct: grad-scaler}]}
"""
FILES = {
    "train.py": TRAIN,
    "notebook.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": ["import torch\n"]}], "metadata": {}}),
    "conf.yaml": "trainer: {precision: 16-mixed}\n",
    "conf.yml": "a: 1\n",
    "conf.json": '{"fp16": true}\n',
    "conf.toml": "a = 1\n",
    "start.sh": "python train.py --fp16\n",
    "pyproject.toml": "[project]\nname = 'a'\ndependencies = ['torch>=2.4']\n",
    "setup.py": "from setuptools import setup\nsetup()\n",
    "setup.cfg": "[metadata]\nname = a\n",
    "requirements.txt": "torch>=2.4\n",
    "pytest.ini": "[pytest]\n",
    "tox.ini": "[pytest]\n",
    "Dockerfile": "FROM scratch\n",
    "Makefile": "all:\n\techo\n",
    "conftest.py": "",
    "test_train.py": "def test_a():\n    assert 1 + 1 == 2\n",
    "results.xml": '<testsuite><testcase classname="a" name="b"/></testsuite>\n',
    "old.toml": "version = 1\nfindings = []\n",
    "requirements/spec.yaml": SPEC,
    "verifygate.toml": CONFIG,
    "README.md": "It trains in float16.\n",
}
NO_CODE = ("Dockerfile", "Makefile", "README.md", "setup.cfg", "tox.ini", "pytest.ini", "requirements.txt", "conf.toml")


def project(folder: Path) -> Path:
    folder.mkdir()
    (folder / ".git").mkdir()
    (folder / "requirements").mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def link_out(path: Path) -> None:
    outside = next(each for each in path.parents if each.name == "project").parent / "outside"
    outside.write_text("SECRET: [\n", encoding="utf-8")
    path.symlink_to(outside)


def folder(path: Path) -> None:
    path.mkdir()


KINDS: dict[str, Callable[[Path], None]] = {
    each.__name__: each for each in (pipe, device, listening, huge, link_out, folder)
}
COMMANDS = (
    ("check", "--no-cache"),
    ("run", "--stage", "static", "--stage", "requirements"),
)


@contextmanager
def bounded() -> Iterator[None]:
    """Ends what waits for somebody else, and refuses more memory than a file of the tree can honestly take."""

    def late(*_: object) -> None:
        raise TimeoutError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    held = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, hard))
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES)
def test_no_name_leads_a_command_astray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, kind: str
) -> None:
    root = project(tmp_path / "project")
    (root / name).unlink()
    KINDS[kind](root / name)
    monkeypatch.chdir(root)
    for words in COMMANDS:
        with bounded():
            code = main(list(words))
        told = capsys.readouterr()
        assert code in (0, 1, 2), (words, told)
        assert "SECRET" not in told.out + told.err, (words, told)
        assert code != 2 or told.err, (words, told)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["train.py", "conf.yaml", "notebook.ipynb", "pyproject.toml", "verifygate.toml"])
def test_check_names_what_it_does_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, kind: str
) -> None:
    """A source that is none fails the check; of a configuration that no program can be meant to read, one line."""
    root = project(tmp_path / "project")
    (root / name).unlink()
    KINDS[kind](root / name)
    monkeypatch.chdir(root)
    with bounded():
        code = main(["check", "--no-cache"])
    told = capsys.readouterr()
    assert len(told.err.splitlines()) <= 1
    if name in ("train.py", "notebook.ipynb", "verifygate.toml") and kind != "folder":
        assert code == 2
        assert name in told.err
    if name == "conf.yaml" and kind not in ("folder", "huge"):
        assert code == 0
        assert f"not analysed: {name}: cannot be read: it is a" in told.err


def test_each_input_is_opened_by_the_reader(tmp_path: Path) -> None:
    """Whichever file of the tree the commands open for reading, by whatever library, the reader opens it."""
    root = project(tmp_path / "project")
    code = f"""
import os, sys
root, reader, seen, read = {os.fspath(root)!r}, {regular_files.__file__!r}, set(), set()
def hook(event, args):
    if event != "open" or not isinstance(args[0], (str, bytes)):
        return
    path = args[0] if isinstance(args[0], str) else args[0].decode()
    if not path.startswith(root) and (path.startswith("/") or path.startswith("<")):
        return
    if os.path.isdir(path):
        return
    frame = sys._getframe(1)
    writes = (args[1] and set("wax+") & set(args[1])) if isinstance(args[1], str) else (args[2] or 0) & 3
    if not writes:
        opened = frame.f_code.co_filename == reader
        (read.add(path.removeprefix(root + "/")) if opened else seen.add((path, frame.f_code.co_filename)))
sys.addaudithook(hook)
from verifygate.cli import main
for words in sys.argv[1:]:
    main(words.split())
import json
sys.stderr.write("\\n" + json.dumps([sorted(seen), sorted(read)]))
"""
    words = [" ".join(each) for each in COMMANDS]
    words += ["doctor", "claims README.md --root .", "init", "baseline write", "baseline check", "fix --diff"]
    words += ["compare reports/latest/report.json reports/latest/report.json", "render reports/latest/report.json"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=10 * LIMIT_S,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    others, read = json.loads(done.stderr.splitlines()[-1])
    assert sorted({tuple(each) for each in others if not each[1].endswith("/shutil.py")}) == []
    assert set(FILES) - set(read) == {"Dockerfile", "conf.yml"} - set(read)
