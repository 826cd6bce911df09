"""Packs the cases of the rules into the wheel: whoever has only the installed package can run them there.

See `verifygate docs evidence`. An editable installation has the folder itself, and needs no archive.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CASES = "tests/static/cases"
PACKED = "verifygate/quality/qualification/cases.zip"


class CasesHook(BuildHookInterface):
    """Named by `[tool.hatch.build.targets.wheel.hooks.custom]`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        archive = Path(self.directory) / "cases.zip"
        archive.parent.mkdir(parents=True, exist_ok=True)
        pack(Path(self.root) / CASES, archive)
        build_data["force_include"][str(archive)] = PACKED

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        (Path(self.directory) / "cases.zip").unlink(missing_ok=True)


def pack(folder: Path, archive: Path) -> None:
    """Write the files below a folder to an archive: the same bytes for the same files."""
    files = (each for each in sorted(folder.rglob("*")) if each.is_file() and "__pycache__" not in each.parts)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in files:
            entry = zipfile.ZipInfo(file.relative_to(folder).as_posix(), date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, file.read_bytes())
