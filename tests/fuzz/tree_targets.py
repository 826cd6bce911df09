"""Properties of a check of a tree whose names stand for anything: pipes, devices, links; texts in names; git."""

from __future__ import annotations

import io
import os
import re
import socket
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

from verifygate.base.errors import UsageError
from verifygate.check.options import CheckOptions, Output
from verifygate.check.run import run_check
from verifygate.report.escape import LONG, plain

CONTENTS = {
    "train": "import torch\nscaler = torch.cuda.amp.GradScaler()\n",
    "conf": "home = /usr\ntrainer: {precision: 16-mixed}\n",
    "notebook": '{"cells": [{"cell_type": "code", "source": "import torch.cuda.amp"}], "metadata": {}}',
    "broken": "# autocast\ndef f(:\n",
    "runs": "import sys\nsys.path.insert(0, '.hidden')\nexec(open('conf.yaml').read())\n",
    "attributes": "* filter=x diff=x\n",
}
MOST = 40
FORMATS = ("text", "json", "github")
_SIGNS = re.compile(r"\\x([0-9a-f]{2})|\\n")
_ESCAPES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _file(path: Path, word: str) -> None:
    path.write_text(CONTENTS.get(word, word), encoding="utf-8")


def _huge(path: Path, _: str) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 36)


def _socket(path: Path, _: str) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.fspath(path))


MAKERS: dict[str, Callable[[Path, str], object]] = {
    "file": _file,
    "pipe": lambda path, _: os.mkfifo(path),
    "link": lambda path, target: path.symlink_to(target or "."),
    "socket": _socket,
    "huge": _huge,
    "folder": lambda path, _: path.mkdir(),
}


def hostile_trees(data: bytes) -> None:
    """Whatever lies there, a check ends, says what it did not read, and no name of it bends what is printed."""
    with TemporaryDirectory(prefix="verifygate-tree-") as folder:
        root = Path(folder, "tree")
        root.mkdir()
        (root / ".git").mkdir()
        for line in data.decode("utf-8", "replace").splitlines()[:MOST]:
            _made(root, line)
        with chdir(root):
            for form in FORMATS:
                _is_told(form)
        assert not list(Path(folder).rglob("canary")), "a setting of git was obeyed"


def _made(root: Path, line: str) -> None:
    kind, _, rest = line.partition(" ")
    name, _, word = rest.partition(" ")
    if kind == "git":
        section, _, key = name.rpartition(".")
        with (root / ".git" / "config").open("a", encoding="utf-8") as file:
            file.write(f"[{section}]\n{key} = {word}\n")
        return
    name = _SIGNS.sub(lambda found: chr(int(found[1], 16)) if found[1] else "\n", name)
    path = root / name.lstrip("/")
    if kind not in MAKERS or ".." in path.parts or ".git" in path.parts:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        MAKERS[kind](path, word)
    except (OSError, ValueError):
        return  # no name of a file, or of another one already


def _is_told(form: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = run_check(CheckOptions(outputs=(Output(form),), cached=False))
    except UsageError as refused:
        told = plain(str(refused), LONG)
        assert "\n" not in told
        return
    assert code in (0, 1, 2)
    told = err.getvalue() + (out.getvalue() if form == "text" else "")
    assert not _ESCAPES.search(told), "an escape reaches the terminal"
    assert not re.search(r"(?m)^::", told), "a name begins a command"
    for line in out.getvalue().splitlines() if form == "github" else ():
        assert line.startswith(("::", "No ", "Precision", " ")) or line[:1].isdigit() or not line, line
    assert bool(err.getvalue()) or code != 2, "nothing says why"
