"""Pages that are walked through: their files are written, their commands run, and what these print is compared.

A file stands in a code block behind a paragraph that ends in ``Write `NAME`:`` or ``Add to `NAME`:``. Commands stand in
`console` blocks, each behind a `$`, with their standard output below. `...` stands for anything, as in a doctest.

    python tests/console_blocks.py verifygate/docs/tutorial.md

writes what the commands print now into the page; a text with `...` in it stays where it still fits.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
FOR_CONTRIBUTORS = ("write-a-rule.md",)
_BLOCK = re.compile(
    r"(?P<lead>[^\n]*)\n\n(?P<ticks>`{3,})(?P<kind>\w+)\n(?P<body>.*?)^(?P=ticks)$", re.DOTALL | re.MULTILINE
)
_FILE = re.compile(r"(?P<how>Write|Add to) `(?P<name>[^`]+)`:$")
_COMMAND = re.compile(r"^\$ (?P<command>.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)


class Answer(NamedTuple):
    """A command of a page: where its output stands there, the output, and what it printed."""

    command: str
    start: int
    end: int
    shown: str
    printed: str
    errors: str

    @property
    def is_as_shown(self) -> bool:
        return doctest.OutputChecker().check_output(self.shown, self.printed, doctest.ELLIPSIS)


def walked(text: str, folder: Path, environment: Mapping[str, str] = {}) -> Iterator[Answer]:
    """Follow a page in a folder: write its files, run its commands one after the other."""
    status = 0
    for block in _BLOCK.finditer(text):
        if (file := _FILE.search(block["lead"])) is not None:
            path = folder / file["name"]
            path.parent.mkdir(parents=True, exist_ok=True)
            before = path.read_text(encoding="utf-8") if file["how"] == "Add to" else ""
            path.write_text(before + block["body"], encoding="utf-8")
        elif block["kind"] == "console":
            for found in _COMMAND.finditer(block["body"]):
                ended = _run(found["command"], status, folder, environment)
                status = ended.returncode
                start, end = (block.start("body") + place for place in found.span("output"))
                yield Answer(found["command"], start, end, found["output"], ended.stdout, ended.stderr)


def _run(command: str, status: int, folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """`$?` is what the command before it left."""
    return subprocess.run(
        ["bash", "-c", f"(exit {status})\n{command}"],
        cwd=folder,
        env={
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "OMP_NUM_THREADS": "1",
            **environment,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def prepared(page: Path, parent: Path) -> Path:
    """The folder in which a page is followed: empty; for contributors, a copy of the package as in a clone."""
    folder = parent / "first-gate"
    folder.mkdir()
    if page.name in FOR_CONTRIBUTORS:
        shutil.copytree(ROOT / "verifygate", folder / "verifygate", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def main(names: list[str]) -> int:
    for page in map(Path, names):
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as name:
            answers = list(walked(text, prepared(page, Path(name))))
        for answer in reversed(answers):
            keeps = "..." in answer.shown and answer.is_as_shown
            text = text[: answer.start] + (answer.shown if keeps else answer.printed) + text[answer.end :]
        page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
