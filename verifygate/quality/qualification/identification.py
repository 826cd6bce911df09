"""Identification of the tool: which version it is, of which files, and whether they are those that were installed."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import platform
from pathlib import Path

import verifygate
from verifygate import __version__
from verifygate.base.distribution import DISTRIBUTION
from verifygate.model import Model

PACKAGE = Path(verifygate.__file__).parent
FROM_WHEEL = "from a wheel"
FROM_SOURCE = "from a source tree: no installation lists the files"
DEPENDENCIES = ("click", "coverage", "jinja2", "libcst", "packaging", "pydantic", "pytest", "pyyaml")
"""Of which versions the results depend; what a project's own tests import is not among them."""


class Identification(Model):
    """What exactly was qualified."""

    tool: str
    version: str
    digest: str
    """sha256 over the path and sha256 of every file of the package, in order: `path NUL sha256 LF`."""
    files: dict[str, str]
    """Path below the package -> sha256. Bytecode is left out."""
    installed: str
    altered: tuple[str, ...]
    """Files that are not, or no longer, those that the installation lists; nothing is known of a source tree."""
    python: str
    implementation: str
    dependencies: dict[str, str]


def identification() -> Identification:
    """The tool that is running."""
    files = {path.relative_to(PACKAGE).as_posix(): _sha256(path) for path in _files()}
    whole = hashlib.sha256()
    for path, digest in files.items():
        whole.update(f"{path}\0{digest}\n".encode())
    listed = _listed()
    return Identification(
        tool=DISTRIBUTION,
        version=__version__,
        digest=whole.hexdigest(),
        files=files,
        installed=FROM_WHEEL if listed else FROM_SOURCE,
        altered=_altered(files, listed) if listed else (),
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        dependencies={name: importlib.metadata.version(name) for name in DEPENDENCIES},
    )


def _files() -> list[Path]:
    found = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(found, key=lambda path: path.relative_to(PACKAGE).as_posix())


def _listed() -> dict[str, str]:
    """Path below the package -> sha256, as the installation lists them; nothing where it is not one of a wheel."""
    try:
        listed = importlib.metadata.distribution(DISTRIBUTION).files or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    found = {}
    for file in listed:
        if file.parts[0] == PACKAGE.name and file.hash is not None and file.hash.mode == "sha256":
            padded = file.hash.value + "=" * (-len(file.hash.value) % 4)
            found["/".join(file.parts[1:])] = base64.urlsafe_b64decode(padded).hex()
    return found


def _altered(files: dict[str, str], listed: dict[str, str]) -> tuple[str, ...]:
    return tuple(name for name in sorted({*files, *listed}) if files.get(name) != listed.get(name))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
