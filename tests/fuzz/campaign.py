"""A long search for inputs that break a property: `python tests/fuzz/campaign.py --seconds 600 [TARGET]...`.

Each target runs in a process of its own, driven by atheris, which keeps what reaches code that no input reached before.
Without atheris inputs are made blindly, and that is said. What is found goes to tests/fuzz/crashes/TARGET, one file for
each kind of find, the smallest that was met; a test replays these files for ever. Prints a table; exit code 1: there
are finds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
WORK = HERE.parents[1] / "build" / "fuzz"
"""What is reached in one campaign: no part of the repository."""
GUIDED = find_spec("atheris") is not None
MOST_KEPT, LARGEST_KEPT = 12, 4096
"""Inputs that a campaign adds to the corpus of a target, and their size: what is kept is read, and replayed."""


class Search:
    """Runs one property on input after input, and notes what breaks it."""

    def __init__(self, name: str) -> None:
        from fuzz_targets import TARGETS

        self.target = TARGETS[name]
        self.told = {"inputs": 0, "slowest": 0.0, "finds": {}}
        self._saved = time.monotonic()

    def one(self, data: bytes) -> None:
        from fuzz_targets import kind_of
        from time_limit import HangError, time_limit

        began = time.process_time()
        try:
            with time_limit():
                self.target.holds(data)
        except (Exception, HangError) as error:
            self._keep(kind_of(error), data)
        self.told["inputs"] += 1
        self.told["slowest"] = max(self.told["slowest"], round(time.process_time() - began, 2))
        if time.monotonic() - self._saved > 2:
            self.save()

    def _keep(self, kind: str, data: bytes) -> None:
        from fuzz_targets import CRASHES

        file = CRASHES / self.target.name / f"{sha256(kind.encode()).hexdigest()[:10]}.txt"
        if kind not in self.told["finds"] or len(data) < file.stat().st_size:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        self.told["finds"].setdefault(kind, file.name)

    def save(self) -> None:
        self._saved = time.monotonic()
        (WORK / f"{self.target.name}.json").write_text(json.dumps(self.told), encoding="utf-8")


def blind(name: str, seconds: float, seed: int) -> None:
    """Inputs made by the grammar and by changes of the seeds, for a time."""
    from fuzz_targets import CORPUS, kept

    search = Search(name)
    old = tuple(path.read_bytes() for path in kept(CORPUS, name))
    random = Random(seed)  # noqa: S311
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        search.one(search.target.made(random, old))
    search.save()


def guided(name: str, seconds: float, seed: int) -> None:
    """The same, atheris choosing what to change by what it reaches. Does not return: libFuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["verifygate"]):
        search = Search(name)
        search.target.holds(next(iter(_begin(search))))  # what is imported late is instrumented as well

    def changed(data: bytes, size: int, seed: int) -> bytes:
        random = Random(seed)  # noqa: S311
        if random.random() < 0.15:
            return search.target.made(random)[:size]
        return search.target.changed(data, random)[:size]

    reached = WORK / "corpus" / name
    reached.mkdir(parents=True, exist_ok=True)
    for data in _begin(search):
        (reached / sha256(data).hexdigest()[:16]).write_bytes(data)
    options = [
        f"-max_total_time={int(seconds)}",
        "-timeout=86400",
        "-max_len=16384",
        "-rss_limit_mb=4096",
        f"-seed={seed}",
        f"-artifact_prefix={WORK}/",
    ]
    atheris.Setup([sys.argv[0], *options, str(reached)], search.one, custom_mutator=changed)
    atheris.Fuzz()


def _begin(search: Search) -> list[bytes]:
    from fuzz_targets import CORPUS, kept, seeds_of

    seeds = seeds_of(search.target)
    return [*seeds[:: max(1, len(seeds) // 40)], *(path.read_bytes() for path in kept(CORPUS, search.target.name))]


def reduced(name: str) -> int:
    """Add to the kept corpus the inputs of the campaign that run most lines which no kept one runs; how many."""
    import coverage
    from fuzz_targets import CORPUS, TARGETS, kept
    from time_limit import HangError, time_limit

    def lines(data: bytes) -> set[tuple[str, int]]:
        measured = coverage.Coverage(data_file=None, source_pkgs=["verifygate"], config_file=False)
        measured.start()
        try:
            with time_limit():
                TARGETS[name].holds(data)
        except (Exception, HangError):
            return set()
        finally:
            measured.stop()
        told = measured.get_data()
        return {(file, line) for file in told.measured_files() for line in told.lines(file) or ()}

    covered: set[tuple[str, int]] = set()
    for path in kept(CORPUS, name):
        covered |= lines(path.read_bytes())
    found = sorted((WORK / "corpus" / name).glob("*"), key=lambda path: (path.stat().st_size, path.name))
    new = {path: lines(path.read_bytes()) for path in found if path.stat().st_size <= LARGEST_KEPT}
    added = 0
    while new and added < MOST_KEPT:
        best = max(new, key=lambda path: len(new[path] - covered))
        gain = new.pop(best) - covered
        if not gain:
            break
        (CORPUS / name).mkdir(parents=True, exist_ok=True)
        (CORPUS / name / f"{best.name[:10]}.txt").write_bytes(best.read_bytes())
        covered |= gain
        added += 1
    return added


def run_one(name: str, mode: str, seconds: float, seed: int) -> dict[str, object]:
    """One target in a process of its own: what came of it."""
    WORK.mkdir(parents=True, exist_ok=True)
    told = WORK / f"{name}.json"
    told.unlink(missing_ok=True)
    command = [sys.executable, __file__, "--one", mode, name, str(seconds), str(seed)]
    with (WORK / f"{name}.log").open("wb") as log:
        ended = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False)
    text = (WORK / f"{name}.log").read_text(encoding="utf-8", errors="replace")
    reached = [line.split("cov: ")[1].split()[0] for line in text.splitlines() if "cov: " in line]
    result = (
        json.loads(told.read_text(encoding="utf-8")) if told.is_file() else {"inputs": 0, "finds": {}, "slowest": 0}
    )
    if ended.returncode:
        result["finds"][f"the process ended with {ended.returncode}: see {told.with_suffix('.log').name}"] = ""
    return result | {"reached": reached[-1] if reached else "not measured"}


def main() -> int:
    if sys.argv[1:2] == ["--one"]:  # before anything of verifygate is imported: it is instrumented as it is
        mode, name, seconds, seed = sys.argv[2:]
        (guided if mode == "guided" else blind)(name, float(seconds), int(seed))
        return 0
    from fuzz_targets import TARGETS

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=600, help="of all targets together (default: 600)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--blind", action="store_true", help="without atheris: no wait for the instrumentation")
    options.add_argument("--keep", action="store_true", help="add to the kept corpus what reached new lines")
    options.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)} (default: all)")
    asked = options.parse_args()
    if unknown := [name for name in asked.targets if name not in TARGETS]:
        options.error(f"there is no target {unknown[0]}")
    names = asked.targets or list(TARGETS)
    mode = "guided" if GUIDED and not asked.blind else "blind"
    if not GUIDED:
        print("atheris is not installed: inputs are made blindly (pip install atheris)", file=sys.stderr)
    results = {name: run_one(name, mode, asked.seconds / len(names), asked.seed) for name in names}
    print(f"| {'target':17} | {'inputs':>8} | {'edges reached':>13} | {'slowest, s':>10} | {'finds':>5} |")
    print(f"|{'-' * 19}|{'-' * 9}:|{'-' * 14}:|{'-' * 11}:|{'-' * 6}:|")
    for name, told in results.items():
        print(
            f"| {name:17} | {told['inputs']:>8} | {told['reached']:>13} | {told['slowest']:>10} |"
            f" {len(told['finds']):>5} |"
        )
    for name, told in results.items():
        for kind, file in told["finds"].items():
            print(f"{name}: {kind}: tests/fuzz/crashes/{name}/{file}" if file else f"{name}: {kind}")
    if asked.keep:
        print("\n".join(f"kept of {name}: {reduced(name)}" for name in names))
    return 1 if any(told["finds"] for told in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
