"""Small whole programs in many styles: the right ones bring no certain finding, and every fault put into one is found.

What is right is shown by running them: see oracle.py. A program that is misjudged stands in MISJUDGED or MISSED, and
has to leave it as soon as it is judged rightly.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from breaks import RIGHT, named
from oracle import RUNS

from verifygate.config.settings import StaticSettings
from verifygate.model import Certainty, Finding
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

SETTINGS = StaticSettings(select=("AMP", "KEY"))
ORACLE = Path(__file__).with_name("oracle.py")
PROGRAMS = {path.stem: path for path in sorted(RIGHT.iterdir()) if not path.name.startswith("_")}
FAULTY = dict(named())

MISJUDGED: Mapping[str, str] = {}

MISSED: Mapping[str, str] = {}


def cases(names: Iterable[str], wrong: Mapping[str, str]) -> list[object]:
    def mark(name: str) -> list[pytest.MarkDecorator]:
        if name not in wrong:
            return []
        return [pytest.mark.xfail(strict=True, raises=AssertionError, reason=wrong[name])]

    return [pytest.param(name, marks=mark(name)) for name in names]


def files(path: Path) -> dict[str, str]:
    found = {"train.py": path} if path.is_file() else {str(each.relative_to(path)): each for each in path.rglob("*.py")}
    return {name: each.read_text(encoding="utf-8") for name, each in sorted(found.items())}


def findings(program: Mapping[str, str]) -> tuple[Finding, ...]:
    outcome = analyse(Sources([SourceFile(path, text.encode()) for path, text in program.items()]), SETTINGS)
    assert not outcome.not_analysed
    return tuple(outcome.findings)


@pytest.mark.parametrize("name", cases(PROGRAMS, MISJUDGED))
def test_right_program_has_no_certain_finding(name: str):
    found = findings(files(PROGRAMS[name]))

    assert [f"{each.rule} {each.path}:{each.line}" for each in found if each.certainty is Certainty.CERTAIN] == []


@pytest.mark.parametrize("name", cases(FAULTY, MISSED))
def test_fault_put_into_a_right_program_is_found(name: str):
    text = FAULTY[name].text()
    (owed,) = (
        (line.partition("# expect: ")[2].strip(), number)
        for number, line in enumerate(text.splitlines(), 1)
        if "# expect: " in line
    )

    found = findings({"train.py": text})

    assert owed in [(each.rule, each.line) for each in found]


def test_lists_of_what_is_wrong_name_programs():
    assert set(MISJUDGED) <= set(PROGRAMS)
    assert set(MISSED) <= set(FAULTY)


def outcomes(paths: Iterable[Path]) -> dict[str, dict[str, str]]:
    """What the runs of each program came to, by its name."""
    done = subprocess.run([sys.executable, ORACLE, ",".join(RUNS), *paths], capture_output=True, text=True, check=True)
    return {Path(path).stem: runs for path, runs in json.loads(done.stdout).items()}


@pytest.mark.slow
def test_right_programs_are_right():
    """The weights do not depend on the scale, nor on there being one, and no overflow reaches them."""
    for name, runs in outcomes(PROGRAMS.values()).items():
        assert runs["low"] == runs["high"] == runs["off"], (name, runs)
        assert not any(came.startswith(("raised", "not finite", "ended", "no")) for came in runs.values()), (name, runs)


@pytest.mark.slow
def test_faults_do_harm(tmp_path: Path):
    """The weights depend on the scale, an overflow reaches them, or the run ends with an error."""
    for name, each in FAULTY.items():
        (tmp_path / f"{name}.py").write_text(each.text(), encoding="utf-8")
    for name, runs in outcomes(sorted(tmp_path.glob("*.py"))).items():
        same = runs["low"] == runs["high"] == runs["off"] and not runs["low"].startswith("raised")
        assert not same or runs["overflow"].startswith(("raised", "not finite")), (name, runs)
