"""What `verifygate init` finds in a project without running it: tests, programs that train, the torch it allows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.config.tree_versions import versions_of_tree
from verifygate.configured_precision.drivers import Drivers
from verifygate.execution.collected_tests import find_tests, read_config
from verifygate.model.program import Program
from verifygate.programs import found_functions, found_programs
from verifygate.sources.discovery import read_sources
from verifygate.sources.file import SourceFile, SourceUnreadableError
from verifygate.sources.tree import Sources

_DELEGATED = re.compile(r"\b(?:lightning|pytorch_lightning|accelerate|TrainingArguments|deepspeed)\b")
_SCALER = re.compile(r"\bGradScaler\b")


@dataclass(frozen=True)
class Found:
    """What a configuration can start from."""

    tests: tuple[str, ...]
    programs: tuple[Program, ...]
    """What trains and can be started, the most promising first."""
    functions: tuple[str, ...]
    """The functions that train, where nothing that can be started does."""
    torch: str
    """The versions that the project allows; empty where it names none."""
    catalogue: str
    """`amp-core` or `amp-delegated`; empty where there is no AMP code."""
    configurations: tuple[str, ...] = ()
    """The files that a framework trains by, each with its name, where no source is about AMP."""


def discovered(root: Path) -> Found:
    """Look at the files of the project; nothing of it runs."""
    try:
        sources = read_sources(root, (".",))
    except UsageError:
        sources = Sources(())
    usual = tuple(name for name in ("tests", "test") if (root / name).is_dir())
    tests = usual or find_tests(root, read_config(root))
    own = [file for file in sources if not any(_below(file.path, test) for test in tests)]
    amp = [_text(file) for file in own if file.mentions_amp]
    delegated = any(_DELEGATED.search(text) for text in amp) and not any(_SCALER.search(text) for text in amp)
    programs = found_programs(sources, root)
    drivers = () if amp else _drivers(sources)
    return Found(
        tests=tests,
        programs=programs,
        functions=() if programs else found_functions(sources),
        torch=" and ".join(filter(None, versions_of_tree(sources.paths, root).torch)),
        catalogue=("amp-delegated" if delegated else "amp-core") if amp else "",
        configurations=drivers,
    )


def _drivers(sources: Sources) -> tuple[str, ...]:
    """The files that a framework trains by, each with its name."""
    found = Drivers.of(sources).all()
    return tuple(dict.fromkeys(f"{each.path} ({each.framework.name})" for each in found))


def _text(file: SourceFile) -> str:
    try:
        return file.text
    except SourceUnreadableError:
        return ""


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
