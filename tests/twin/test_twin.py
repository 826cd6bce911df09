"""What an analysis says of a program is held against what a run of it showed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import compare
import record
from programs import TwinProgram, programs
from twin import PROTOCOL, compared, witness

from verifygate.base.records import replace
from verifygate.events.record import Event, Frame, Kind, Region
from verifygate.instrument.launch import INSTRUMENTS

HERE = (Frame("train.py", "", 3),)
FLOAT16, FLOAT32 = frozenset({"float16"}), frozenset({"float32"})
CUDA = Region("cuda", "float16")
LINEAR = Event(
    Kind.OPERATOR,
    HERE,
    operator="torch.nn.functional.linear",
    dtypes_in=(FLOAT32, FLOAT32),
    dtypes_out=(FLOAT16,),
    region=CUDA,
    in_region=True,
    grad_mode=True,
)
BACKWARD = Event(Kind.BACKWARD, HERE, scaled=True)
ENTER = Event(Kind.REGION_ENTER, HERE, region=CUDA, in_region=True)

MISSES: dict[str, tuple[Event, Event, str]] = {
    "the line": (BACKWARD, replace(BACKWARD, frames=(Frame("train.py", "", 4),)), compare.NOTHING_THERE),
    "the file": (BACKWARD, replace(BACKWARD, frames=(Frame("b.py", "", 3),)), compare.NOTHING_THERE),
    "the operator": (
        LINEAR,
        replace(LINEAR, operator="torch.matmul"),
        f"{compare.ANOTHER} (torch.nn.functional.linear)",
    ),
    "a dtype": (LINEAR, replace(LINEAR, dtypes_out=(FLOAT32,)), "dtypes out: another"),
    "no dtype": (LINEAR, replace(LINEAR, dtypes_in=None), "dtypes in: not said"),
    "any dtype": (LINEAR, replace(LINEAR, dtypes_in=(FLOAT32, frozenset())), "dtypes in: not said"),
    "three dtypes": (
        LINEAR,
        replace(LINEAR, dtypes_out=(frozenset({"float16", "bfloat16", "float32"}),)),
        "dtypes out: more than two values",
    ),
    "how many": (LINEAR, replace(LINEAR, dtypes_in=(FLOAT32,)), "dtypes in: another number of tensors"),
    "no region": (LINEAR, replace(LINEAR, region=None, in_region=None), "region: not said"),
    "out of the region": (LINEAR, replace(LINEAR, region=None, in_region=False), "region: another"),
    "grad mode": (LINEAR, replace(LINEAR, grad_mode=None), "grad mode: not said"),
    "scaled": (BACKWARD, replace(BACKWARD, scaled=None), "scaled: not said"),
    "not scaled": (BACKWARD, replace(BACKWARD, scaled=False), "scaled: another"),
    "region entered": (ENTER, replace(ENTER, region=Region("cuda", "bfloat16")), "region: another"),
}


@pytest.mark.parametrize("what", MISSES)
def test_miss(what: str) -> None:
    """What a witness does not say, or says as anything, it does not have."""
    shown, said, reason = MISSES[what]
    tally = compare.covered([shown], [said])
    assert tally.missing == {f"{shown.kind.value}: {reason}": 1}
    assert tally.share() == 0.0


def test_hit() -> None:
    """One of two values will do; events are counted once; what no kind is about is not asked for."""
    either = replace(LINEAR, dtypes_out=(FLOAT16 | FLOAT32,))
    tally = compare.covered([LINEAR, LINEAR, BACKWARD, Event(Kind.SAVE, HERE)], [either, BACKWARD])
    assert (tally.share(), dict(tally.asked)) == (1.0, {Kind.OPERATOR: 1, Kind.BACKWARD: 1})


def test_precision_is_of_lines_that_ran() -> None:
    """An event where the run came by, and did not do it; one where it never came by is nobody's fault."""
    there = replace(BACKWARD, frames=(Frame("train.py", "", 4),))
    elsewhere = replace(BACKWARD, frames=(Frame("train.py", "", 9),))
    tally = compare.precise([BACKWARD], [BACKWARD, there, elsewhere], {"train.py": [3, 4]})
    assert tally.share() == 0.5
    assert compare.precise([], [elsewhere], {"train.py": [3, 4]}).share() is None


def test_no_probe_has_it_on() -> None:
    """It costs too much for a user's run."""
    assert not any("twin" in module for module in INSTRUMENTS.values())


PROGRAM = """\
import torch
from torch.nn.utils import clip_grad_norm_
model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.Adam(model.parameters())
scaler = torch.amp.GradScaler("cuda")
def loss_of(x):
    y = model(x)
    return y.pow(2).mean()
for _ in range(2):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_of(torch.ones(3, 4, device="cuda"))
    scaler.scale(loss / 2).backward()
    scaler.unscale_(optimizer)
    clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
with torch.no_grad():
    loss_of(torch.ones(3, 4)).backward
torch.optim.SGD(model.parameters()).step()
loss_of(torch.ones(3, 4)).backward()
"""
IN = ["cuda", "float16", True]
SHOWN = [
    ("zero_grad", 10, None, None, None),
    ("autocast", 11, None, None, IN),
    ("operator", 12, "torch.ones", ["float32"], IN),
    ("operator", 7, "torch.nn.functional.linear", ["float16"], IN),
    ("operator", 7, "torch.nn.functional.linear", ["float32"], None),
    ("operator", 8, "torch.Tensor.pow", ["float32"], IN),
    ("operator", 13, "torch.Tensor.div", ["float32"], None),
    ("scale", 13, None, None, None),
    ("unscale", 14, None, None, None),
    ("clip", 15, None, None, None),
    ("scaler.step", 16, None, None, None),
    ("update", 17, None, None, None),
    ("optimizer.step", 20, None, None, None),
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> record.Recorded:
    folder = tmp_path_factory.mktemp("program")
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    program = TwinProgram("a program", folder, "train.py", ("train.py",))
    return record.recordings([program], keep=False)["a program"]


def test_recording(recorded: record.Recorded) -> None:
    """Each event at the project's line, with names and dtypes as torch has them; nothing of what a library does."""
    assert recorded.ended == ""
    rows = [(kind, line, name, out, region) for kind, _, line, name, _, out, region, _, _ in recorded.rows]
    for shown in SHOWN:
        assert shown in rows
    scaled = {row[2]: row[8] for row in recorded.rows if row[0] == "backward"}
    assert scaled == {13: True, 21: False}
    grad = {tuple(row[2:4]): row[7] for row in recorded.rows if row[2] in (19, 12)}
    assert grad == {(12, "torch.ones"): True, (19, "torch.ones"): False}
    lines = {row[2] for row in recorded.rows}
    assert lines == {7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21}
    assert {row[2] for row in recorded.rows if row[0] == "optimizer.step"} == {16, 20}


def test_run_is_its_own_twin(recorded: record.Recorded) -> None:
    """The record has all that it has, and no more: the measure reaches 1."""
    assert compare.covered(recorded.events, recorded.events).share() == 1.0
    assert compare.precise(recorded.events, recorded.events, recorded.lines).share() == 1.0


def test_recordings_are_kept_until_something_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program, or the recorder, that is another one is recorded again; that of a program that is gone is dropped."""
    made: list[str] = []

    def run(missing: list[tuple[TwinProgram, str]]) -> dict[str, record.Recorded]:
        made.extend(program.name for program, _ in missing)
        return {program.name: record.Recorded(digest) for program, digest in missing}

    monkeypatch.setattr(record, "KEPT", tmp_path / "kept.json.gz")
    monkeypatch.setattr(record, "_record_all", run)
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text("print()", encoding="utf-8")
    both = [TwinProgram(name, tmp_path, f"{name}.py", (f"{name}.py",)) for name in ("a", "b")]
    record.recordings(both)
    record.recordings(both)
    assert made == ["a", "b"]
    (tmp_path / "b.py").write_text("print(1)", encoding="utf-8")
    record.recordings(both, keep=False)
    record.recordings(both[1:])
    assert made == ["a", "b", "b", "b"]
    assert list(record.kept()) == ["b"]
    monkeypatch.setattr(record, "FORMAT", 0)
    record.recordings(both[1:])
    assert made[4:] == ["b"]


FLOORS: dict[str, tuple[float, float, float]] = {"lowered": (0.32, 0.81, 0.96), "machine": (0.97, 0.98, 0.93)}
"""Witness -> the least share of all events, of the protocol's, and of its own events that a run showed.

A program that may take either of two classes lowers the last: one run shows one of them.
"""


@pytest.fixture(scope="module")
def of_all() -> tuple[list[TwinProgram], dict[str, record.Recorded]]:
    """All programs and what they do; one that has changed since it was kept runs once, whoever is compared with it."""
    everything = programs()
    return everything, record.recordings(everything, keep=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOORS)
def test_share(name: str, of_all: tuple[list[TwinProgram], dict[str, record.Recorded]]) -> None:
    """The witness has of the recorded events what it had, over as many programs."""
    result = compared(*of_all, witness(name))
    assert not result.broken
    assert len(result.sound) >= 285
    least = FLOORS[name]
    assert (result.share() >= least[0], result.share(PROTOCOL) >= least[1], result.precision() >= least[2]) == (
        True,
        True,
        True,
    ), "\n".join(result.lines())


def _blind(shown: list[Event], kind: Kind) -> list[Event]:
    return [event for event in shown if event.kind is not kind]


def test_share_falls_with_the_witness(recorded: record.Recorded) -> None:
    """One that does not see a kind loses exactly that: the measure can fail."""
    shown = recorded.events
    for kind in PROTOCOL:
        tally = compare.covered(shown, _blind(shown, kind))
        assert set(tally.missing) == {f"{kind.value}: {compare.NOTHING_THERE}"}
