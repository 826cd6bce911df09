"""What the protocol rules find does not depend on where a loop keeps its objects, or on who calls its steps.

The default run takes a sample of the combinations, the slow one all. Those with a wrong verdict stand in GAPS.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from objects import OBJECTS, TWICE
from rewriting import Loop, Program
from test_metamorphic import LOOPS as PLAIN_LOOPS
from test_metamorphic import MARK, marked, verdict

ORACLE = Path(__file__).parents[1] / "programs" / "oracle.py"
LOOPS = PLAIN_LOOPS | {file.stem: file for file in sorted((Path(__file__).parent / "more_loops").glob("*.py"))}
PAIRS = [(loop, name) for name in OBJECTS for loop in LOOPS]
SAMPLE = 6
"""One of so many combinations is judged in the default run."""


class Gap(NamedTuple):
    """The loops that are misjudged behind one transformation (or the other way round), and why."""

    what_happens: str
    loops: Collection[str]


GAPS: Mapping[str, Gap] = {
    "state_unpacked_each_time": Gap(
        "a name bound again in each iteration is a new object each time",
        {
            "bad_amp203_unscale_each_micro_batch",
            "bad_amp209_missing_update",
            "bad_amp209_missing_update_with_unscale",
            "bad_amp212_never_zeroed",
            "bad_amp214_open_window",
        },
    ),
    "names_swapped": Gap(
        "names exchanged by a tuple are not followed",
        {
            "bad_amp207_step_past_scaler",
            "bad_amp208_double_step",
        },
    ),
    "hooks_in_list": Gap(
        "a backward in a function out of a container is not linked to the region",
        {
            "bad_amp305_no_scaler",
        },
    ),
    "lambdas_in_list": Gap(
        "a backward in a function out of a container is not linked to the region",
        {
            "bad_amp305_no_scaler",
        },
    ),
    "callbacks_in_list": Gap(
        "a backward in a function out of a container is not linked to the region",
        {
            "bad_amp305_no_scaler",
        },
    ),
    "callbacks_by_name": Gap(
        "a backward in a function out of a container is not linked to the region",
        {
            "bad_amp305_no_scaler",
        },
    ),
    "worded_as_roles": Gap(
        "the word `scheduler` decides",
        {
            "bad_amp208_double_step",
        },
    ),
    "template_method": Gap(
        "a method that only the subclass has is not certain in the base class's loop",
        {
            "bad_amp203_unscale_each_micro_batch",
            "bad_amp209_missing_update",
            "bad_amp209_missing_update_with_unscale",
            "bad_amp212_never_zeroed",
            "bad_amp214_open_window",
            "bad_amp301_scaler_in_loop",
        },
    ),
    "steps_in_package": Gap(
        "a step in another module is not linked to the region",
        {
            "bad_amp305_no_scaler",
        },
    ),
}

"""The transformations behind which good_inner_and_outer, misjudged as it is written, is misjudged too."""


@cache
def parsed(loop: str) -> Loop:
    return Loop.parse(LOOPS[loop].read_text(encoding="utf-8"))


@cache
def transformed(loop: str, name: str) -> Program | None:
    return OBJECTS[name](parsed(loop))


def applicable() -> Iterator[tuple[str, str]]:
    return ((loop, name) for loop, name in PAIRS if transformed(loop, name) is not None)


def gap(loop: str, name: str) -> str:
    """What is known to go wrong with the pair; empty where nothing is."""
    if name in GAPS and loop in GAPS[name].loops:
        return GAPS[name].what_happens
    return ""


def cases() -> Iterator[object]:
    for loop, name in applicable():
        marks: list[pytest.MarkDecorator] = []
        if zlib.crc32(f"{loop}-{name}".encode()) % SAMPLE:
            marks.append(pytest.mark.slow)
        if reason := gap(loop, name):
            marks.append(pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason))
        yield pytest.param(loop, name, marks=marks, id=f"{loop}-{name}")


@pytest.mark.parametrize(("loop", "name"), list(cases()))
def test_verdict_does_not_depend_on_who_holds_the_objects(loop: str, name: str):
    made = transformed(loop, name)
    assert made is not None

    assert verdict(made) == marked(made), "\n".join(made.values())


@pytest.mark.parametrize("name", OBJECTS)
def test_transformation_changes_loops_and_loses_no_mark(name: str):
    changed = [loop for loop in LOOPS if transformed(loop, name) not in (None, parsed(loop).having())]

    assert len(changed) >= 15
    for loop in changed:
        made = transformed(loop, name) or {}
        for path, text in made.items():
            compile(text, path, "exec")
        assert sorted(MARK.findall("\n".join(made.values()))) == sorted(MARK.findall(LOOPS[loop].read_text())), loop


def test_gaps_name_what_exists():
    assert set(GAPS) <= set(OBJECTS)
    for gap in GAPS.values():
        assert set(gap.loops) <= set(LOOPS)


ENTRY = """
import torch
from train import train


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)

    def forward(self, inputs):
        return self.head(self.encoder(inputs))

    def penalty(self):
        return self.head.weight.square().sum()


torch.Tensor.to = lambda self, *given, **named: self
images, labels = [torch.randn(8, 6) for _ in range(8)], [torch.randint(0, 3, (8,)) for _ in range(8)]
values = {
    "model": Model(),
    "critic": torch.nn.Linear(6, 1),
    "maker": torch.nn.Linear(6, 6),
    "loss_fn": torch.nn.functional.cross_entropy,
    "batches": list(zip(images, labels)) if "model" in PARAMETERS else images,
    "window": 2,
}
for _ in range(TIMES):
    train(*(values[name] for name in PARAMETERS))
"""
"""Runs the loop with small models and batches, by the names that its parameters had."""


def place(folder: Path, loop: str, program: Program, times: int) -> Path:
    """Write the program and its entry into a folder of its own."""
    entry = ENTRY.replace("PARAMETERS", repr(parsed(loop).parameters)).replace("TIMES", str(times))
    for path, text in (program | {"main.py": entry}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_transformed_loop_trains_the_same_weights(tmp_path: Path):
    """Bit by bit, or ends with the same error."""
    folders: dict[tuple[str, str], Path] = {}
    for loop in LOOPS:
        for times in (1, 2):
            key = loop, str(times)
            folders[key] = place(tmp_path / "-".join(key), loop, parsed(loop).having(), times)
    for loop, name in applicable():
        folders[loop, name] = place(tmp_path / f"{loop}-{name}", loop, transformed(loop, name) or {}, 1)
    done = subprocess.run(
        [sys.executable, ORACLE, "low", *folders.values()], capture_output=True, text=True, check=True
    )
    runs = {path: run["low"] for path, run in json.loads(done.stdout).items()}

    different = {
        key: (came, expected)
        for key in applicable()
        if (came := runs[str(folders[key])])
        != (expected := runs[str(folders[key[0], "2" if key[1] in TWICE else "1"])])
    }

    assert different == {}
