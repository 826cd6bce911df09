"""The bench for scans is a script; what is tested is that it says what it measured, and what it could not."""

from __future__ import annotations

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
    assert missing == "Not installed: ruff, TorchFix, semgrep."


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


def test_file_that_nobody_accounts_for_is_a_failure(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A tool that says less than it was given does not get a clean table."""
    monkeypatch.setattr(bench_scan, "told", lambda *_: (1, 0))
    found, _ = bench_scan.tools(tmp_path, "no-such-tool", "no-such-tool", "no-such-tool")

    _, wrong = bench_scan.measure(tree, tmp_path, found, 1, 60, 200)

    said = "2 files, 1 checked and 0 not analysed"
    assert wrong == [f"tree: verifygate check{which}: {said}" for which in ("", ", nothing changed")]


def test_check_that_takes_too_much_memory_is_a_failure(tree: Path, tmp_path: Path):
    found, _ = bench_scan.tools(tmp_path, "no-such-tool", "no-such-tool", "no-such-tool")

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
