"""What `verifygate init` finds in a project without running it: tests, programs that train, the torch it allows."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.config.version_pins import TORCH, allowed_versions
from verifygate.execution.collected_tests import find_tests, read_config
from verifygate.sources.discovery import read_sources
from verifygate.sources.file import SourceFile, SourceUnreadableError

_MAIN = re.compile(r"(?m)^if[ \t]*\(?__name__[ \t]*==[ \t]*[\"']__main__[\"']")
_TRAINS = re.compile(r"\.backward\(|\.fit\(|\btrainer\.train\(|\bdef train\w*\(")
_ON_CUDA = re.compile(r"\bcuda\b", re.IGNORECASE)
_DELEGATED = re.compile(r"\b(?:lightning|pytorch_lightning|accelerate|TrainingArguments|deepspeed)\b")
_SCALER = re.compile(r"\bGradScaler\b")
MOST = 5


@dataclass(frozen=True)
class Found:
    """What a configuration can start from."""

    tests: tuple[str, ...]
    entries: tuple[str, ...]
    """Commands that probably train: their files can be started, and they train."""
    on_cuda: tuple[str, ...]
    """Those of them whose files speak of CUDA."""
    torch: str
    """The versions that the project allows; empty where it names none."""
    catalogue: str
    """`amp-core` or `amp-delegated`; empty where there is no AMP code."""


def discovered(root: Path) -> Found:
    """Look at the files of the project; nothing of it runs."""
    try:
        files = list(read_sources(root, (".",)))
    except UsageError:
        files = []
    usual = tuple(name for name in ("tests", "test") if (root / name).is_dir())
    tests = usual or find_tests(root, read_config(root))
    own = [file for file in files if not any(_below(file.path, test) for test in tests)]
    programs = [(file, text) for file in own if (text := _text(file)) and _MAIN.search(text) and _TRAINS.search(text)]
    programs.sort(key=lambda pair: (not pair[0].mentions_amp, pair[0].path.count("/"), pair[0].path))
    amp = [_text(file) for file in own if file.mentions_amp]
    delegated = any(_DELEGATED.search(text) for text in amp) and not any(_SCALER.search(text) for text in amp)
    return Found(
        tests=tests,
        entries=tuple(_command(file, root) for file, _ in programs[:MOST]),
        on_cuda=tuple(_command(file, root) for file, text in programs[:MOST] if _ON_CUDA.search(text)),
        torch=allowed_versions(root).get(TORCH, ""),
        catalogue=("amp-delegated" if delegated else "amp-core") if amp else "",
    )


def _text(file: SourceFile) -> str:
    try:
        return file.text
    except SourceUnreadableError:
        return ""


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _command(file: SourceFile, root: Path) -> str:
    """A program in a package is started as a module: it may import from its package."""
    if (root / file.path).with_name("__init__.py").is_file():
        return f"python -m {file.path.removesuffix('.py').replace('/', '.')}"
    return f"python {shlex.quote(file.path)}"
