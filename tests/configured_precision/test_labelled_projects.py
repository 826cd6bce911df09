"""Projects that are a YAML and a launch line, labelled before the tool ran on them: how much of each label it says.

A cell is right if it names the same facts as its label, in the same order, and not followed if it is a gap. A fault is
found if `check` has a finding on one of its lines; any finding elsewhere is false.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from verifygate.cli import main
from verifygate.configured_precision.drivers import Driver, Drivers
from verifygate.sources.configuration_file import ConfigurationFile

HERE = Path(__file__).parent
PROJECTS = tomllib.loads((HERE / "labelled_projects.toml").read_text(encoding="utf-8"))["project"]
MEASURED = tomllib.loads((HERE.parent / "accuracy" / "measured.toml").read_text(encoding="utf-8"))["measured"]
CELLS = sum(len(project.get("cells", {})) for project in PROJECTS)
FAULTS = sum("fault" in project for project in PROJECTS)
FACTS = re.compile(
    r"bfloat16|float16|float32|int8|[48] bits|nf4|double|paged|none|GradScaler|DeepSpeed|static|dynamic|checkpoint"
    r"|norms|embeddings|biases|lora_modules_to_save|large|one device|4096|\bon\b|\boff\b"
)


def driver_of(project: dict[str, Any]) -> Driver:
    (driver,) = Drivers(ConfigurationFile(path, data=text.encode()) for path, text in project["files"].items()).all()
    return driver


def test_cells_of_the_contract_are_right() -> None:
    score: Counter[str] = Counter()
    wrong = []
    for project in PROJECTS:
        driver = driver_of(project)
        if project.get("refused") and not driver.cells["compute"].gap:
            wrong.append(f"{project['name']} is refused, and computes in {driver.cells['compute'].value}")
        for name, label in project.get("cells", {}).items():
            cell = driver.cells[name]
            right = FACTS.findall(cell.value) == FACTS.findall(label)
            score["not followed" if cell.gap else "right" if right else "wrong"] += 1
            if not cell.gap and not right:
                wrong.append(f"{project['name']}: {name}: {cell.value}, and the label says {label}")
    assert not wrong
    assert score["right"] >= 0.97 * CELLS
    assert (score["right"], CELLS) == measured("cells")


def test_faults_are_found_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found: set[str] = set()
    false = []
    for number, project in enumerate(PROJECTS):
        folder = tmp_path / str(number)
        for path, text in project["files"].items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        monkeypatch.chdir(folder)
        assert main(["check", "--no-cache", "--format", "json", "--exit-zero"]) == 0, project["name"]
        for finding in json.loads(capsys.readouterr().out)["findings"]:
            place = f"{finding['path']}:{finding['line']}"
            if place in project.get("lines", ()):
                found.add(project["name"])
            else:
                false.append(f"{project['name']}: {finding['rule']} at {place}")
    assert not false
    assert len(found) >= 12
    assert (len(found), FAULTS) == measured("faults")


def measured(what: str) -> tuple[int, int]:
    """What the page on accuracy says of the projects now."""
    (row,) = (
        each for each in MEASURED if each["how"] == "configured" and each["what"].startswith(f"{what} in the same")
    )
    return row["count"], row["of"]
