"""Arms of several processes: how torchrun starts them, and how what each process says becomes one answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


def command_line(arm: Path, processes: int) -> list[str]:
    """What the project's interpreter runs: the arm, or torchrun with so many processes of it on this machine."""
    if processes == 1:
        return [str(arm)]
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", "--max-restarts=0"]
    return [*torchrun, str(arm)]


def joined(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One answer of all processes, in the order of their ranks.

    What every process says alike, and what one of them says for all (the scores), is taken from the first.
    """
    found = dict(answers[0])
    if len(answers) == 1:
        return found
    for name, join in JOINED.items():
        if name in found:
            values = [answer[name] for answer in answers]
            found[name] = None if any(value is None for value in values) else join(values)
    return found


def _slowest(steps: Sequence[Sequence[float]]) -> list[float]:
    """The times of the process that took longest. Those of single steps do not mix: a wait for another process may
    fall into its last step or into one's own next."""
    return list(max(steps, key=sum))


def _digest(digests: Sequence[str]) -> str:
    """Of all processes' data, or weights: each has its own share of it."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _union(files: Sequence[Sequence[str]]) -> list[str]:
    return sorted({name for each in files for name in each})


JOINED: dict[str, Callable[[Sequence[Any]], Any]] = {
    "samples_per_step": sum,
    "seconds": _slowest,
    "block_seconds": max,
    "effective": min,
    "peak_bytes": max,
    "reserved_bytes": max,
    "digest": _digest,
    "weights_digest": _digest,
    "files": _union,
}
"""Part of an answer -> what it is for all processes together; memory is that of the process that needs most."""
