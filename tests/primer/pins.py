"""The packages of the primer: each one archive of the package index, named by its digest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from verifygate.base.errors import UsageError

LIST = "packages.txt"
_ROW = re.compile(r"(?P<name>[\w.-]+)==(?P<version>[\w.+!-]+) sha256:(?P<sha256>[0-9a-f]{64}) (?P<file>[\w.+!-]+)")


@dataclass(frozen=True, order=True)
class Pin:
    """One archive: `timm==1.0.3 sha256:0123... timm-1.0.3.tar.gz` in the list."""

    name: str
    version: str
    sha256: str
    file: str

    @property
    def label(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def row(self) -> str:
        return f"{self.label} sha256:{self.sha256} {self.file}"


def read_pins(path: Path | None = None) -> list[Pin]:
    """The list of a file, or the one that comes with the gate; `#` begins a comment. Raises UsageError."""
    where = path or resources.files(__package__).joinpath(LIST)
    try:
        lines = where.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(
            f"cannot be read: {error.strerror}", where=str(path), remedy="name a list of packages"
        ) from None
    pins = []
    for number, line in enumerate(lines, 1):
        if text := line.partition("#")[0].strip():
            match = _ROW.fullmatch(text)
            if match is None:
                raise UsageError(
                    "not a pinned package", where=f"{path or LIST}:{number}", remedy="NAME==VERSION sha256:DIGEST FILE"
                )
            pins.append(Pin(**match.groupdict()))
    return pins
