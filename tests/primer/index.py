"""Download an archive from the package index that pip is configured for, without running anything of the package."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from primer import pip_client
from primer.pins import Pin
from verifygate.base.errors import UsageError

_CHUNK = 1 << 20
_SOURCES = (".tar.gz", ".zip", ".tar.bz2", ".tgz")


def download(pin: Pin, target: Path) -> None:
    """Write the archive of a pin to `target`. Raises UsageError where the index lacks it or its digest differs."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".download-") as folder:
        part = Path(folder, pin.file)
        _client(pin.name, pin.file, str(part))
        verify(part, pin)
        part.replace(target)


def pinned(name: str, version: str) -> Pin:
    """Pin a version as the index has it now: its source distribution, else a wheel. Raises UsageError."""
    files = [file for found, file in json.loads(_client(name)) if found == version]
    if not files:
        raise UsageError("the package index has no such version", where=f"{name}=={version}")
    file = min(files, key=lambda each: (not each.endswith(_SOURCES), each))
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder, file)
        _client(name, file, str(part))
        return Pin(name, version, _digest(part), file)


def verify(archive: Path, pin: Pin) -> None:
    """Raise UsageError unless the archive has the digest of its pin."""
    if (digest := _digest(archive)) != pin.sha256:
        raise UsageError(
            f"its sha256 is {digest}, the list says {pin.sha256}",
            where=pin.file,
            remedy="another file than the one that was judged; do not use it",
        )


def _digest(archive: Path) -> str:
    digest = hashlib.sha256()
    with archive.open("rb") as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _client(*arguments: str) -> str:
    """What the client prints. Raises UsageError where it fails."""
    command = [sys.executable, "-W", "ignore", pip_client.__file__, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode == pip_client.MISSING:
        raise UsageError("the package index has no such file", where=arguments[1], remedy="see `pip config list`")
    if ended.returncode:
        last = (ended.stderr.strip() or "no message").splitlines()[-1]
        raise UsageError(f"pip cannot download it: {last}", where=arguments[0], remedy="see `pip config list`")
    return ended.stdout
