"""The first witness: today's event graphs. It knows the order of the protocol, and no tensors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from programs import TwinProgram

from verifygate.events.record import Event, Frame, Kind
from verifygate.protocol import Event as Move
from verifygate.sources.discovery import read_sources
from verifygate.static.analysis import Analysis
from verifygate.static.lowering.builder import TooLargeError
from verifygate.static.lowering.event_graph import Backward, Enter, Node, Signal
from verifygate.static.lowering.lower import Lowering
from verifygate.static.lowering.reachability import Reachability
from verifygate.static.symbols.program import Program

_KINDS = {
    Move.UNSCALE: Kind.UNSCALE,
    Move.CLIP: Kind.CLIP,
    Move.SCALER_STEP: Kind.SCALER_STEP,
    Move.OPTIMIZER_STEP: Kind.STEP,
    Move.CHECKED_STEP: Kind.STEP,
    Move.UPDATE: Kind.UPDATE,
    Move.ZERO_GRAD: Kind.ZERO_GRAD,
}


def events_of(folder: Path, program: TwinProgram) -> Iterator[Event]:
    """The events of every graph; which of the entries of a project is started makes no difference to it."""
    sources = read_sources(folder, ["."])
    analysis = Analysis(Program(sources, {file.path: None for file in sources}))
    reach = Reachability(analysis.roles)
    for root in reach.roots(analysis.modules):
        try:
            graph = Lowering(root, analysis.roles, reach).lower()
        except TooLargeError:
            continue
        for node in graph.nodes:
            yield from _events(node)


def _events(node: Node) -> Iterator[Event]:
    frames = (Frame(node.place.path, "", node.place.line),)
    match node.payload:
        case Signal(event=move) if move in _KINDS:
            yield Event(_KINDS[move], frames)
            if move is Move.SCALER_STEP:
                yield Event(Kind.STEP, frames)
        case Backward(scaled=scaled):
            yield Event(Kind.BACKWARD, frames, scaled=True if scaled else None)  # else the path decides
            if scaled:
                yield Event(Kind.SCALE, frames)
        case Enter(active=active):
            yield Event(Kind.REGION_ENTER, frames, in_region=active)
