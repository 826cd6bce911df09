"""The second witness: the abstract run of the program that is started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from verifygate.events.record import Event
from verifygate.sources.discovery import read_sources
from verifygate.static.symbols.program import Program


def events_of(folder: Path, entry: str) -> Iterator[Event]:
    """What the machine emits from the entry. Raises ImportError in a tree without a machine."""
    from verifygate.static.machine.libraries import LIBRARIES
    from verifygate.static.machine.machine import Entry, run_entry

    sources = read_sources(folder, ["."])
    outcome = run_entry(Program(sources, {file.path: None for file in sources}), Entry(entry), LIBRARIES)
    return (each.event for each in outcome.events)
