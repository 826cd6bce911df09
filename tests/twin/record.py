"""Record programs: each in a process forked from one that has imported torch, and only once until something changes.

A recording is kept under the digest of the program, the recorder and torch. CUDA is emulated, so a program that asks
for it runs as it stands.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import importlib.metadata
import json
import os
import runpy
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from programs import TwinProgram

from verifygate.events.record import Event, Frame, Kind, Region

KEPT = Path(__file__).parent / "recordings.json.gz"
RECORDER = Path(__file__).parents[2] / "verifygate/instrument/twin"
FORMAT = 1
"""Raised where this module records otherwise than before."""
SECONDS = 30
"""Of one program, on the clock of its process; what hangs is ended after twenty times that."""
MOST_ROWS = 4000
_FRAMEWORKS = ("accelerate", "lightning", "transformers", "peft")
_current: list[Any] = [None]
_Wanted = tuple[TwinProgram, str]
"""A program, and the digest of its recording."""


@dataclass(frozen=True)
class Recorded:
    """What the run of a program left."""

    digest: str
    rows: list[list[Any]] = field(default_factory=list)
    lines: dict[str, list[int]] = field(default_factory=dict)
    """Path -> lines that ran."""
    ended: str = ""
    """How it ended: empty for well, or the error."""

    @property
    def events(self) -> list[Event]:
        """The rows as the record that both witnesses leave."""
        return [_event(row) for row in self.rows]


def recordings(programs: Iterable[TwinProgram], *, keep: bool = True) -> dict[str, Recorded]:
    """Name -> recording; those that are not kept, or no longer true, are made now, and kept if that is asked for."""
    known = kept()
    recorder = recorder_digest()
    wanted = {program.name: (program, f"{program.digest}-{recorder}") for program in programs}
    found = {
        name: known[name] for name, (_, digest) in wanted.items() if name in known and known[name].digest == digest
    }
    missing = [(program, digest) for name, (program, digest) in wanted.items() if name not in found]
    if missing:
        found |= _record_all(missing)
        if keep:
            _keep(found)
    return dict(sorted(found.items()))


def recorder_digest() -> str:
    """Of the recorder's files and of torch: with another of either, a recording may be another."""
    digest = hashlib.sha256(f"{importlib.metadata.version('torch')} {FORMAT}".encode())
    for path in sorted(RECORDER.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def kept() -> dict[str, Recorded]:
    if not KEPT.exists():
        return {}
    rows = json.loads(gzip.decompress(KEPT.read_bytes()))
    return {name: Recorded(**row) for name, row in rows.items()}


def _keep(found: dict[str, Recorded]) -> None:
    """The file is the same for the same recordings: no time, no name in it."""
    text = json.dumps({name: vars(found[name]) for name in sorted(found)}, separators=(",", ":"))
    KEPT.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def _record_all(missing: list[_Wanted]) -> dict[str, Recorded]:
    """Record each in a fork of one that has imported torch, and frameworks for programs that do.

    CUDA is emulated for programs that name it; where it is, the CPU's own autocast is out of use.
    """
    found: dict[str, Recorded] = {}
    with tempfile.TemporaryDirectory() as scratch:
        told = Path(scratch, "told")
        for is_cuda in (True, False):
            some = [each for each in missing if each[0].has_cuda is is_cuda]
            child = os.fork()
            if child == 0:
                try:
                    _in_child(some, told, Path(scratch), is_cuda)
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
        for line in told.read_text("utf-8").splitlines() if told.exists() else []:
            name, row = json.loads(line)
            found[name] = Recorded(**row)
    for program, digest in missing:
        found.setdefault(program.name, Recorded(digest, ended="not recorded: the process that was to died"))
    return found


def _in_child(missing: list[_Wanted], told: Path, scratch: Path, is_cuda: bool) -> None:
    import torch

    from verifygate.instrument.cuda import emulation
    from verifygate.instrument.twin import recording_mode

    torch.set_num_threads(1)
    recording_mode.canonical(torch.ones)  # torch lists its functions once: before the emulation puts others there
    if is_cuda and not torch.cuda.is_available():
        emulation.install({}, lambda *_given, **_named: None)
    recording_mode.watch(lambda: _current[0])
    first = torch.nn.Parameter(torch.zeros(1))
    torch.optim.SGD([first]).zero_grad()
    torch.optim.Adam([first]).step()  # what torch imports late is imported before the fork, once
    plain = [each for each in missing if not each[0].names(*_FRAMEWORKS)]
    for each in plain:
        _forked(*each, told, scratch)
    if len(plain) < len(missing):
        for name in _FRAMEWORKS:
            with contextlib.suppress(ImportError):
                __import__(name)
    for each in missing:
        if each not in plain:
            _forked(*each, told, scratch)


def _forked(program: TwinProgram, digest: str, told: Path, scratch: Path) -> None:
    folder = Path(tempfile.mkdtemp(dir=scratch)).resolve()
    child = os.fork()
    if child == 0:
        try:
            _run(program, digest, told, folder)
        finally:
            os._exit(0)
    deadline = time.monotonic() + 20 * SECONDS
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.01)
    shutil.rmtree(folder, ignore_errors=True)


def _run(program: TwinProgram, digest: str, told: Path, folder: Path) -> None:
    import torch

    from verifygate.instrument.twin.places import Places
    from verifygate.instrument.twin.recording_mode import OperatorMode, Recording

    for name in program.files:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(program.folder / name, target)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.chdir(folder)
    os.environ |= {"HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled", "HOME": str(folder)}
    sys.dont_write_bytecode = True
    sys.argv = [program.entry, *program.arguments]
    sys.path[:0] = list(dict.fromkeys([str((folder / program.entry).parent), str(folder)]))
    warnings.simplefilter("ignore")
    recording = Recording(Places(folder))
    torch.manual_seed(7)
    ended = ""
    signal.signal(signal.SIGPROF, _out_of_time)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    sys.settrace(recording.trace)
    _current[0] = recording
    try:
        with OperatorMode(recording):
            runpy.run_path(str(folder / program.entry), run_name="__main__")
    except SystemExit as end:
        ended = f"SystemExit: {end.code}" if end.code else ""
    except BaseException as error:
        ended = f"{type(error).__name__}: {error}"[:200].replace(str(folder), "")
    sys.settrace(None)
    _current[0] = None
    lines: dict[str, set[int]] = {}
    for code, ran in recording.lines.items():
        lines.setdefault(os.path.relpath(code.co_filename, folder), set()).update(ran)
    row = {
        "digest": digest,
        "rows": sorted((list(row) for row in recording.rows), key=repr)[:MOST_ROWS],
        "lines": {path: sorted(lines[path]) for path in sorted(lines)},
        "ended": ended or "".join(recording.errors[:1]),
    }
    with told.open("a", encoding="utf-8") as file:
        file.write(json.dumps([program.name, row]) + "\n")


def _out_of_time(_number: int, _frame: object) -> None:
    raise TimeoutError(f"no end after {SECONDS} s")


def _event(row: list[Any]) -> Event:
    kind, path, line, operator, dtypes_in, dtypes_out, region, grad_mode, scaled = row
    return Event(
        kind=Kind.of(kind),
        frames=(Frame(path, "", line),),
        operator=operator,
        dtypes_in=None if dtypes_in is None else tuple(frozenset([each]) for each in dtypes_in),
        dtypes_out=None if dtypes_out is None else tuple(frozenset([each]) for each in dtypes_out),
        region=Region(*region) if region else None,
        in_region=region is not None and region[2],
        grad_mode=grad_mode,
        scaled=scaled,
    )
