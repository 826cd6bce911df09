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
PACKAGES = {
    "ddp": "torch",
    "fabric": "lightning",
    "fsdp": "torch",
    "ignite": "pytorch-ignite",
    "pretrained": "transformers",
}
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
    """Record the programs that changed, or whose framework did, and keep what came out by framework.

    A recording whose framework is not installed here stays as it is.
    """
    before, known = kept(), {program.name: program for program in programs()}
    wanted = {name: (program, version) for name, program in known.items() if (version := _version(name))}
    rows = {name: (version, vars(run)) for name, (version, run) in before.items() if name in known}
    changed = [
        program
        for name, (program, version) in wanted.items()
        if name not in rows
        or (version, program.digest, "") != (rows[name][0], rows[name][1]["digest"], rows[name][1]["ended"])
    ]
    for name, run in recordings(changed, keep=False).items():
        program, version = wanted[name]
        rows[name] = (version, vars(run) | {"digest": program.digest})
        print(name, len(run.rows), run.ended)
    for path in RECORDINGS.glob("*.json"):
        path.unlink()
    for version in {version for version, _ in rows.values()}:
        of = {name: row for name, (each, row) in rows.items() if each == version}
        (RECORDINGS / f"{version}.json").write_text(json.dumps(of, indent=0, sort_keys=True) + "\n", encoding="utf-8")


def _version(name: str) -> str:
    """`accelerate-1.15.0`: the framework of a program, as it is installed; empty where it is not."""
    framework = name.partition("_")[0]
    try:
        return f"{framework}-{importlib.metadata.version(PACKAGES.get(framework, framework))}"
    except importlib.metadata.PackageNotFoundError:
        return ""


if __name__ == "__main__":
    main()
