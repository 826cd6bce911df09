"""The bench for scans is a script; what is tested is that it says what it measured, and what it could not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import bench_scan
import pytest

TREE = {
    "train.py": "from torch.cuda.amp import GradScaler\n\nscaler = GradScaler()\n",
    "net.py": "import torch\n\nnet = torch.nn.Linear(2, 2)\n",
}


NOTHING_ELSE = dict.fromkeys(bench_scan.EXECUTABLES, "no-such-tool")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    for name, text in TREE.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The bench where no other tool is installed."""
    return subprocess.run(
        [sys.executable, bench_scan.__file__, *arguments],
        env={**os.environ, "PATH": "", "PYTHONWARNINGS": ""},
        capture_output=True,
        text=True,
    )


def test_table_of_a_small_tree(tree: Path):
    """One row a tool, every file accounted for, the base at 1, and those that are missing named."""
    done = bench(str(tree), "--rounds", "2")

    assert (done.returncode, done.stderr) == (0, "")
    head, rule, *rows, blank, ratios, missing = done.stdout.splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert head.count("|") == rule.count("|") == rows[0].count("|")
    assert [each[:5] for each in cells] == [
        ["tree", "2", "ast.parse", "2", "0"],
        ["tree", "2", "verifygate check", "2", "0"],
        ["tree", "2", "verifygate check, with the fixes that can be made (JSON)", "2", "0"],
        ["tree", "2", "verifygate check, nothing changed", "2", "0"],
    ]
    assert cells[0][5:] == ["1.0", "1.0", "1.0"]
    least, median, memory = map(float, cells[1][5:])
    assert 0 < least <= median
    assert memory > 0
    assert blank == ""
    assert "2 rounds" in ratios
    assert missing == "Not installed: ruff, pyrefly, ty, TorchFix, semgrep."


def test_what_is_left_out_has_no_row_and_is_not_missing(tree: Path):
    left_out = [part for name in ("verifygate check, ", "semgrep", "T") for part in ("--without", name)]

    done = bench(str(tree), "--rounds", "1", *left_out)

    names = [line.split("|")[3].strip() for line in done.stdout.splitlines() if line.startswith("| tree")]
    assert names == ["ast.parse", "verifygate check"]
    assert "Not installed: ruff, pyrefly, ty." in done.stdout


@pytest.mark.parametrize(
    ("says", "cells"),
    [("INFO 1,234 errors", "unsaid | unsaid | "), ("a link leads nowhere", " |  | failed (no answer) | ")],
)
def test_a_type_checker_has_a_row(says: str, cells: str, tree: Path, tmp_path: Path):
    """It is given the tree, one thread, and no more; with findings it exits with 1, as where it gives up."""
    pyrefly = tmp_path / "pyrefly"
    version = '[ "$1" = --version ]'
    lines = ["#!/bin/sh", f'{version} && echo "pyrefly 1.0" || echo "{says}"', 'echo "$@" > "$HOME/given-$1"', version]
    pyrefly.write_text("\n".join(lines) + "\n")
    pyrefly.chmod(0o755)
    found, missing = bench_scan.tools(tmp_path, NOTHING_ELSE | {"pyrefly": str(pyrefly)})

    rows, wrong = bench_scan.measure(tree, tmp_path, [found[0], found[-1]], 1, 60, 200)

    assert (found[-1].name, found[-1].version) == ("pyrefly", "pyrefly 1.0")
    assert (missing, wrong) == (["ruff", "ty", "TorchFix", "semgrep"], [])
    assert rows[-1].startswith(f"| tree | 2 | pyrefly | {cells}")
    assert (tmp_path / "given-check").read_text().split()[1:3] == ["--threads", "1"]
    assert (tmp_path / "given-check").read_text().split()[-1] == str(tree)


def test_a_linter_that_does_not_say_what_it_checked_has_a_row(tree: Path):
    """Ruff's own statistics name its findings only: what it was given is not taken for what it checked."""
    ruff = Path(sys.executable).parent / "ruff"

    done = bench(str(tree), "--rounds", "1", "--ruff", str(ruff))

    (row,) = (line for line in done.stdout.splitlines() if "ruff, all rules" in line and line.startswith("|"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[3:5] == ["unsaid", "unsaid"]
    assert all(float(cell) > 0 for cell in cells[5:])
    assert "ruff: ruff 0." in done.stdout


def test_file_that_cannot_be_parsed_is_counted_as_not_analysed(tree: Path):
    (tree / "broken.py").write_text("def (:\n", encoding="utf-8")

    done = bench(str(tree), "--rounds", "1")

    assert done.returncode == 0
    assert "| tree | 3 | ast.parse | 2 | 1 |" in done.stdout
    assert "| tree | 3 | verifygate check | 2 | 1 |" in done.stdout


def test_notebooks_are_read_by_check_alone(tree: Path):
    """They are counted as files that it analyses, and are none that `ast.parse` is given."""
    cell = {"cell_type": "code", "source": TREE["train.py"], "metadata": {}, "outputs": [], "execution_count": None}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tree / "train_in_cells.ipynb").write_text(json.dumps(notebook), encoding="utf-8")

    done = bench(str(tree), "--rounds", "1")

    assert (done.returncode, done.stderr) == (0, "")
    assert "| tree | 2 | ast.parse | 2 | 0 |" in done.stdout
    assert "| tree | 2 | verifygate check | 3 | 0 |" in done.stdout


def test_file_that_nobody_accounts_for_is_a_failure(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A tool that says less than it was given does not get a clean table."""
    monkeypatch.setattr(bench_scan, "told", lambda *_: (1, 0))
    found, _ = bench_scan.tools(tmp_path, NOTHING_ELSE)

    _, wrong = bench_scan.measure(tree, tmp_path, found, 1, 60, 200)

    said = "2 files, 1 checked and 0 not analysed"
    assert wrong == [f"tree: verifygate check{which}: {said}" for which in ("", ", nothing changed")]


def test_check_that_takes_too_much_memory_is_a_failure(tree: Path, tmp_path: Path):
    found, _ = bench_scan.tools(tmp_path, NOTHING_ELSE)

    _, wrong = bench_scan.measure(tree, tmp_path, found, 1, 60, 1)

    (said,) = wrong
    assert said.startswith("tree: verifygate check: ")
    assert said.endswith(" MiB of memory, and 1 are the most")


def test_run_over_its_limit_is_stopped_and_said(tmp_path: Path):
    run = bench_scan.launch([sys.executable, "-c", "while True: pass"], 1, tmp_path)

    assert run.wrong == "over limit (1 s)"


def test_folder_without_python_is_refused(tmp_path: Path):
    done = bench(str(tmp_path), "--rounds", "1")

    assert done.returncode == 1
    assert "no Python files" in done.stderr
