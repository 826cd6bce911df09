"""A recorder's line becomes the record that the static stage leaves as well, at one place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from verifygate.events.record import Event, Frame, Kind, Measured, Region
from verifygate.execution import order, rewrites
from verifygate.execution.typed_events import typed

HERE = (Frame("/project/train.py", "step", 7), Frame("/project/train.py", "main", 30))
ROWS = {
    "backward": (
        {"root": "scaled", "scaler": 1, "optimizers": [2, 3]},
        Event(Kind.BACKWARD, HERE, 5, None, None, None, None, False, None, True, (2, 3), None, 1),
    ),
    "grad": (
        {"root": "unclear", "raised": "RuntimeError"},
        Event(
            Kind.GRAD, HERE, 5, in_region=False, parameters=(), raised="RuntimeError", measured=Measured(unclear=True)
        ),
    ),
    "clip": (
        {"optimizers": [], "limit": 1.5, "tensors": 4, "norm": 8.0},
        Event(Kind.CLIP, HERE, 5, in_region=False, parameters=(), measured=Measured(limit=1.5, tensors=4)),
    ),
    "written": (
        {"optimizers": [1], "norm": [8.0, 1.0], "sizes": [[8.0, 1.0, 4.0, 0.5]], "hid": True},
        Event(
            Kind.WRITTEN,
            HERE,
            5,
            in_region=False,
            parameters=(1,),
            measured=Measured(norm=(8.0, 1.0), sizes=((8.0, 1.0, 4.0, 0.5),), hid=True),
        ),
    ),
    "a word of tomorrow": ({}, Event(Kind.OTHER, HERE, 5, in_region=False, parameters=())),
}


@pytest.mark.parametrize("word", ROWS)
def test_line_says(word: str) -> None:
    """Each field of a line is an attribute; what it does not say is None."""
    row, event = ROWS[word]
    assert typed(5, word, HERE, "", row) == event


def test_region_and_place() -> None:
    """What was in force is a region, and the place is the innermost frame."""
    event = typed(1, "optimizer.step", HERE, "cuda float16", {"optimizer": 1, "empty": True})
    assert (event.region, event.in_region, event.empty) == (Region("cuda", "float16"), True, True)
    assert (event.file, event.line) == ("/project/train.py", 7)
    assert (Event(Kind.UPDATE).file, Event(Kind.UPDATE).line) == ("", 0)


@pytest.mark.parametrize("module", [order, rewrites], ids=lambda module: module.__name__.rpartition(".")[2])
def test_protocol_reads_no_raw_line(module: object) -> None:
    """The walk through the table knows the record, and no field of a line by its name."""
    source = Path(str(module.__dict__["__file__"])).read_text("utf-8")
    assert not re.search(r"\.fields\b", source)
