"""Which rules run where: as the static settings say, or as holds where nothing is configured."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Choice(NamedTuple):
    """What the analysis asks of the settings, without the models that read them from a file."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    torch_version: str = ""
