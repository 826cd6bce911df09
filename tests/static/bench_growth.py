"""How the cost of the static rules grows: each dimension of a program is doubled, and the exponent is printed.

    python tests/static/bench_growth.py [--start N] [--doublings N] [--above EXPONENT]

The dimensions are files by themselves, files that one program imports, training loops in a file, findings, places
that save a checkpoint, statements that bind one name anew, branches of a loop, classes that derive from one another,
entries of a dict that are all read, and files that import everything of each other in a circle.

A cost in CPU seconds that grows as `size ** exponent` has the exponent 1 where it is linear.
Below each dimension stand the parts of the analysis (a rule, or what several rules share) whose own exponent is above
the one that is given, and which take 0.1 s or more at the largest size.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from math import log2
from pathlib import Path

from verifygate.base.cpu_time import Timings
from verifygate.config.rule_selection import RuleSelection
from verifygate.sources.discovery import read_sources
from verifygate.static.engine import Means, analyse

LOOP = """

def train_{name}(model, optimizer, batches, path):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        {before_step}
        scaler.step(optimizer)
        scaler.update()
    {end}
"""
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
SAVE = 'torch.save({{"optimizer": optimizer.state_dict(){scaler}}}, path)'
IN_ALL = 20
"""Loops in a file, or files in a program, where it is the other that grows."""
LEAST = 0.1
"""CPU seconds from which on a part is told of."""


def loop(name: str, *, faulty: bool = False, saves: bool = False) -> str:
    """A training loop; a faulty one clips scaled gradients."""
    unscaled = "" if faulty else "scaler.unscale_(optimizer)\n        "
    end = SAVE.format(scaler=', "scaler": scaler.state_dict()') if saves else "return model"
    return LOOP.format(name=name, before_step=unscaled + CLIP, end=end)


def loops(count: int, *, faulty: bool = False, saves: bool = False) -> str:
    """A file of so many loops."""
    return "import torch\n" + "".join(loop(str(number), faulty=faulty, saves=saves) for number in range(count))


def apart(size: int) -> dict[str, str]:
    """So many files, each a program."""
    return {f"train_{number}.py": loops(1) for number in range(size)}


def imported(size: int) -> dict[str, str]:
    """So many files that one program imports; each saves checkpoints."""
    names = [f"part_{number}" for number in range(size)]
    files = {f"{name}.py": loops(4, saves=True) for name in names}
    starts = "".join(f"    {name}.train_0(model, optimizer, batches, path)\n" for name in names)
    main = "".join(f"import {name}\n" for name in names) + "\n\ndef main(model, optimizer, batches, path):\n" + starts
    return files | {"main.py": main + '\n\nif __name__ == "__main__":\n    main(*given())\n'}


def in_a_file(size: int) -> dict[str, str]:
    """One file of so many loops."""
    return {"train.py": loops(size)}


def findings(size: int) -> dict[str, str]:
    """So many loops with a finding each, in files of some."""
    return {f"train_{number}.py": loops(IN_ALL, faulty=True) for number in range(-(-size // IN_ALL))}


def saves(size: int) -> dict[str, str]:
    """One file of so many loops that each save a checkpoint, with the scaler's state."""
    return {"train.py": loops(size, saves=True)}


def body(*statements: str, before: str = "") -> dict[str, str]:
    """One loop with further statements in it, and some text before it."""
    text = loop("more").replace("scaler.scale(loss)", "\n        ".join([*statements, "scaler.scale(loss)"]), 1)
    return {"train.py": f"import torch\n{before}{text}"}


def bound_anew(size: int) -> dict[str, str]:
    """So many statements that bind the loss anew, each from what it was."""
    return body(*(f"loss = loss + {number}" for number in range(size)))


def branches(size: int) -> dict[str, str]:
    """So many conditions in a loop, one after the other."""
    return body(*(f"if batch[{number}] > {number}:\n            loss = loss * {number}" for number in range(size)))


def derived(size: int) -> dict[str, str]:
    """So many classes, each of which derives from the one before."""
    classes = "\n\nclass Net0(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
    for number in range(1, size):
        classes += f"\n\nclass Net{number}(Net{number - 1}):\n    def more{number}(self, x):\n        return self(x)\n"
    return body(f"loss = loss + Net{size - 1}()(batch).mean()", before=classes)


def entries(size: int) -> dict[str, str]:
    """A dict of so many entries, each of which is read."""
    table = "TABLE = {" + ", ".join(f'"k{number}": {number}' for number in range(size)) + "}\n"
    return body(*(f'k{number} = TABLE["k{number}"]' for number in range(size)), before=table)


def in_a_circle(size: int) -> dict[str, str]:
    """So many files that import everything of the next one, the last of the first."""
    part = "from part_{after} import *\nimport torch\n\n\ndef step_{number}(x):\n    return step_{after}(x)\n"
    files = {f"part_{each}.py": part.format(number=each, after=(each + 1) % size) for each in range(size)}
    return files | body("loss = step_0(loss)", before="from part_0 import *\n")


DIMENSIONS: dict[str, Callable[[int], dict[str, str]]] = {
    "files by themselves": apart,
    "files of one program": imported,
    "loops in a file": in_a_file,
    "findings": findings,
    "saves in a file": saves,
    "statements that bind one name anew": bound_anew,
    "branches of a loop": branches,
    "classes that derive from one another": derived,
    "entries of a dict, all read": entries,
    "files that import all of each other": in_a_circle,
}


def measured(files: dict[str, str]) -> tuple[Timings, int]:
    """The CPU seconds of the parts of an analysis of some files, and how many findings it has."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        sources = read_sources(Path(folder), ["."])
    timings = Timings()
    with timings.part("between the parts"):
        found = analyse(sources, RuleSelection(), with_constructs=False, merged=False, means=Means(timings=timings))
    return timings, len(found.findings)


def exponent(before: float, after: float) -> float:
    """By which power a cost grew when its size was doubled."""
    return log2(after / before) if before > 0 else 0.0


def rows(name: str, sizes: list[int], above: float) -> Iterator[str]:
    """The rows of a dimension: the cost at each size, the exponent of the last doubling, and the parts that exceed."""
    runs = [measured(DIMENSIONS[name](size)) for size in sizes]
    parts = [{each: cost for each, cost in run.seconds.items() if not each.startswith("start")} for run, _ in runs]
    costs = [sum(each.values()) for each in parts]
    told = ", ".join(
        f"{size}: {cost:.2f} s ({found})" for size, cost, (_, found) in zip(sizes, costs, runs, strict=True)
    )
    yield f"{name}: {told}; exponent {exponent(*costs[-2:]):.2f}"
    before, after = parts[-2:]
    steep = {each: exponent(before.get(each, 0.0), cost) for each, cost in after.items() if cost >= LEAST}
    for part, power in sorted(steep.items(), key=lambda each: -each[1]):
        if power > above:
            yield f"    {part}: {after[part]:.2f} s; exponent {power:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=int, default=50, help="the least size")
    parser.add_argument("--doublings", type=int, default=3)
    parser.add_argument("--above", type=float, default=1.2, help="exponent above which a part is told of")
    given = parser.parse_args()
    if given.start < 1 or given.doublings < 1:
        parser.error("--start and --doublings are at least 1")
    sizes = [given.start * 2**number for number in range(given.doublings + 1)]
    measured(apart(1))  # loads the rules, which no size should pay for
    print("Size: CPU seconds (findings)")
    for name in DIMENSIONS:
        print("\n".join(rows(name, sizes, given.above)), flush=True)


if __name__ == "__main__":
    main()
