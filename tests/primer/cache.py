"""Where the primer keeps archives, unpacked packages and exported revisions: the user's cache, outside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

from primer.archives import unpack
from primer.index import download, verify
from primer.pins import Pin


def default_folder() -> Path:
    """`primer` below the user's cache folder of the gate."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
    return base / "verifygate" / "primer"


class Cache:
    """Pinned packages on disk, downloaded when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def tree(self, pin: Pin) -> Path:
        """The unpacked package. Its archive is verified again before it is unpacked. Raises UsageError."""
        tree = self.folder / "trees" / f"{pin.name}-{pin.version}-{pin.sha256[:12]}"
        if not tree.is_dir():
            archive = self.folder / "archives" / pin.file
            if not archive.is_file():
                download(pin, archive)
            verify(archive, pin)
            unpack(archive, tree)
        return tree
