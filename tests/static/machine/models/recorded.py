"""Record what the real frameworks do: `python tests/static/machine/models/recorded.py` where they are installed.

Each program of `programs/` is named after its framework; its recording is kept with the version in its name.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "twin"))

from programs import TwinProgram
from record import Recorded, recordings

from verifygate.base.records import replace
from verifygate.events.record import Event, Frame

HERE = Path(__file__).parent
PROGRAMS, RECORDINGS = HERE / "programs", HERE / "recordings"
PACKAGES = {"fabric": "lightning"}
"""Framework -> the package of it, where that is called otherwise."""


def programs() -> Iterator[TwinProgram]:
    for path in sorted(PROGRAMS.glob("*.py")):
        yield TwinProgram(path.stem, PROGRAMS, path.name, (path.name,))


def kept() -> dict[str, tuple[str, Recorded]]:
    """Program -> framework and version, and the recording."""
    found: dict[str, tuple[str, Recorded]] = {}
    for path in sorted(RECORDINGS.glob("*.json")):
        for name, row in json.loads(path.read_text("utf-8")).items():
            found[name] = (path.stem, Recorded(**row))
    return found


def at(event: Event, path: str) -> Event:
    """The same event in a file of another name."""
    return replace(event, frames=(Frame(path, "", event.line),), number=0)


def main() -> None:
    """Record all programs, and keep what came out by framework."""
    by_framework: dict[str, dict[str, object]] = {}
    runs = recordings(programs(), keep=False)
    for program in programs():
        run = runs[program.name]
        framework = program.name.partition("_")[0]
        package = PACKAGES.get(framework, framework)
        by_framework.setdefault(f"{framework}-{importlib.metadata.version(package)}", {})[program.name] = {
            **vars(run),
            "digest": program.digest,
        }
        print(program.name, len(run.rows), run.ended)
    for path in RECORDINGS.glob("*.json"):
        path.unlink()
    for name, rows in by_framework.items():
        (RECORDINGS / f"{name}.json").write_text(json.dumps(rows, indent=0, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
