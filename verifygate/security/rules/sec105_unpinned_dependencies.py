"""What a project installs is not fixed.

## Why is this bad
Without a lock file, or versions fixed by `==`, each machine installs what is newest on that day. A result cannot be
repeated, a default of torch changes under a training run (the one of `torch.load` did), and a package that was taken
over is installed at once.

## Impact
Two runs of one commit train with different code, and nobody can tell which.

## Example
```
torch>=2.1
transformers
```
Use instead:
```
torch==2.13.0
transformers==4.57.1
```

## What is looked at
`requirements*.txt` in the root, and lock files (`uv.lock`, `poetry.lock`, `pdm.lock`, `Pipfile.lock`, `pylock.toml`,
`conda-lock.yml`, constraints with `==`). One finding for a project. Ranges in `pyproject.toml` are right for a
library, and are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from verifygate.base.counts import counted
from verifygate.model import Severity
from verifygate.security.rule import Hit, SecurityRule
from verifygate.security.tree import AuditedTree

RULE = SecurityRule(
    code="SEC105",
    name="unpinned-dependencies",
    severity=Severity.LOW,
    summary="what the project installs is not fixed",
    remedy="write a lock file (`uv lock`, `pip-compile --generate-hashes`), or fix each version by `==`",
)
LOCKS = frozenset({"uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml", "conda-lock.yml"})
_REQUIREMENT = r"(?m)^[ \t]*([A-Za-z][\w.\-]*(?:\[[^\]]*\])?)[ \t]*([^#\n;]*)"


def check(tree: AuditedTree) -> Iterator[Hit]:
    here = {path: text for path, text in tree.texts.items() if "/" not in path}
    if not LOCKS.isdisjoint(here) or _is_constrained(here):
        return
    for path, text in here.items():
        if not re.fullmatch(r"requirements[\w.-]*\.txt", path):
            continue
        asked = list(re.finditer(_REQUIREMENT, text))
        loose = [match for match in asked if not _is_fixed(match[2])]
        if loose:
            line = text.count("\n", 0, loose[0].start(1)) + 1
            of = counted(len(asked), "requirement")
            yield Hit(path, line, f"{len(loose)} of {of} name no fixed version, and there is no lock file")
            return


def _is_fixed(rest: str) -> bool:
    return re.match(r"\s*(?:===?\s*[\w.+!-]+\s*(?:$|--hash|\\)|@\s*\S+@[0-9a-f]{40})", rest) is not None


def _is_constrained(files: Mapping[str, str]) -> bool:
    """Whether a file of constraints fixes versions."""
    return any(path.startswith("constraints") and re.search(r"(?m)^[\w.\-]+==", text) for path, text in files.items())
