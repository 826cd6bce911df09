"""The second witness: the abstract run of the program that is started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from programs import TwinProgram

from verifygate.events.record import Event
from verifygate.sources.discovery import read_sources
from verifygate.static.symbols.program import Program


def events_of(folder: Path, program: TwinProgram) -> Iterator[Event]:
    """What the machine emits from the entry, with CUDA or without. Raises ImportError in a tree without a machine."""
    from verifygate.static.machine.libraries import LIBRARIES, WITHOUT_CUDA
    from verifygate.static.machine.machine import Entry, run_entry

    sources = read_sources(folder, ["."])
    libraries = LIBRARIES if program.has_cuda else WITHOUT_CUDA
    outcome = run_entry(Program(sources, {file.path: None for file in sources}), Entry(program.entry), libraries)
    return (each.event for each in outcome.events)
