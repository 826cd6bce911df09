"""The twin test: `python tests/twin/twin.py [--witness NAME] [--only WORD] [--misses]`.

Every program of the tests that can be started here is recorded (once, until it changes), and a witness is asked for the
events of the same program. Printed is which share of the recorded events it has, by kind and over programs, what is
missing by reason, and of its own events on lines that ran the share that the run showed.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).parent))

import compare
from compare import KINDS, Tally, Witness
from programs import TwinProgram, programs
from record import Recorded, recordings

from verifygate.base.records import replace
from verifygate.events.record import Event, Frame, Kind

WITNESSES = ("lowered", "machine")
PROTOCOL = tuple(kind for kind in KINDS if kind not in (Kind.OPERATOR, Kind.REGION_ENTER))


@dataclass(frozen=True)
class Compared:
    """A witness over all programs that were recorded."""

    sound: dict[str, Tally]
    precise: dict[str, Tally]
    broken: dict[str, str]
    """Program -> the error in which the witness ended."""

    def share(self, kinds: tuple[Kind, ...] = KINDS) -> float:
        """Of the events of a run, those that the witness has; the mean of all programs that have such events."""
        return _mean(self.sound, kinds)

    def precision(self, kinds: tuple[Kind, ...] = KINDS) -> float:
        """Of the witness's events on lines that ran, those that a run showed; the mean of programs."""
        return _mean(self.precise, kinds)

    def lines(self) -> Iterator[str]:
        """What is printed."""
        asked = sum(sum(tally.asked.values()) for tally in self.sound.values())
        yield f"{len(self.sound)} programs, {asked} distinct events"
        yield f"of a run's events the witness has {self.share():.1%}, of the protocol's {self.share(PROTOCOL):.1%}"
        yield f"of its events on lines that ran a run showed {self.precision():.1%}"
        for kind in KINDS:
            asked, had = (sum(tally_of[kind] for tally_of in each) for each in self._counts())
            told, shown = (sum(tally_of[kind] for tally_of in each) for each in self._counts(self.precise))
            yield f"  {kind.value:16} {had:5} of {asked:5}   told {told:5}, shown {shown:5}"
        yield from (f"  broken: {name}: {error}" for name, error in sorted(self.broken.items())[:10])

    def missing(self) -> Counter[str]:
        """Reason -> how many events."""
        return sum((tally.missing for tally in self.sound.values()), Counter())

    def example(self, reason: str) -> str:
        """The first place of a reason: `PROGRAM: FILE:LINE`."""
        having = ((name, tally) for name, tally in self.sound.items() if reason in tally.examples)
        return min(f"{name}: {tally.examples[reason]}" for name, tally in having)

    def _counts(self, of: dict[str, Tally] | None = None) -> tuple[list[Counter[Kind]], list[Counter[Kind]]]:
        tallies = (self.sound if of is None else of).values()
        return [tally.asked for tally in tallies], [tally.had for tally in tallies]


def _mean(tallies: dict[str, Tally], kinds: tuple[Kind, ...]) -> float:
    shares = [share for tally in tallies.values() if (share := tally.share(kinds)) is not None]
    return fmean(shares) if shares else 0.0


def witness(name: str) -> Witness:
    """`events_of` of a module beside this one."""
    found: Witness = importlib.import_module(name).events_of
    return found


def compared(of: Iterable[TwinProgram], recorded: dict[str, Recorded], events_of: Witness) -> Compared:
    """Ask a witness for each program whose recording has events. An error of its own costs that program."""
    result = Compared({}, {}, {})
    for program in of:
        run = recorded[program.name]
        if not run.rows:
            continue
        theirs: list[Event] = []
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch).resolve()
            for name in program.files:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes((program.folder / name).read_bytes())
            try:
                theirs = [_below(event, folder) for event in events_of(folder, program)]
            except Exception as error:
                result.broken[program.name] = f"{type(error).__name__}: {error}"
        result.sound[program.name] = compare.covered(run.events, theirs)
        result.precise[program.name] = compare.precise(run.events, theirs, run.lines)
    return result


def _below(event: Event, folder: Path) -> Event:
    path = event.file.removeprefix(f"{folder}/")
    return replace(event, frames=(Frame(path, "", event.line),), number=0)


def main() -> int:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--witness", default="lowered", choices=WITNESSES)
    parser.add_argument("--only", default="", help="programs whose name holds this")
    parser.add_argument("--misses", type=int, default=30, help="how many reasons are listed")
    given = parser.parse_args()
    everything = programs()
    recorded = recordings(everything)
    result = compared([each for each in everything if given.only in each.name], recorded, witness(given.witness))
    print(*result.lines(), sep="\n")
    for reason, count in result.missing().most_common(given.misses):
        print(f"  missing {count:5}  {reason}   {result.example(reason)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
