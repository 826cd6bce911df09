"""What stands first: a reason in a line, what a change did, new before old, commands whole at 80 columns."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from verifygate.cli import main
from verifygate.commands import cli
from verifygate.report import escape
from verifygate.report.terminal import WIDTH, folded

CLIP = "        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
FAULTY = f"""\
import torch


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
{CLIP}        scaler.step(optimizer)
        scaler.update()
"""
DEPRECATED = "import torch\n\n\ndef evaluate(model, x):\n    with torch.cuda.amp.autocast():\n        return model(x)\n"
SCALER = "import torch\n\nscaler = torch.cuda.amp.GradScaler()\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def commit(**files: str) -> None:
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        git("add", "-A")
        git("commit", "-qm", "next")

    def git(*arguments: str) -> None:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
        subprocess.run(command, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    commit(a=DEPRECATED, z=FAULTY)
    git("checkout", "-qb", "change")
    monkeypatch.chdir(tmp_path)
    return commit


def test_a_change_is_counted_and_what_it_mends_is_named(repository: Any, capsys: pytest.CaptureFixture[str]):
    repository(b=SCALER, z=FAULTY.replace(CLIP, f"        scaler.unscale_(optimizer)\n{CLIP}"))
    assert main(["run", "--stage", "static", "--since", "main"]) == 0
    told = capsys.readouterr().out
    assert "  change        1 new, 1 there before, 1 fixed\n    fixed: z.py: AMP201 clip-before-unscale\n" in told
    page = Path("reports/latest/gate.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| AMP50")]
    assert [("b.py" in row, "so before this change: " in row) for row in rows] == [(True, False), (False, True)]


def test_what_goes_with_its_file_or_is_silenced_is_not_fixed(repository: Any, capsys: pytest.CaptureFixture[str]):
    silenced = DEPRECATED.replace("autocast():", "autocast():  # verifygate: ignore[AMP501] later")
    Path("z.py").unlink()
    repository(a=silenced)
    assert main(["run", "--stage", "static", "--since", "main"]) == 0
    told = capsys.readouterr().out
    assert "  change        1 removed with the file\n" in told
    assert "  suppressed    by this change: a.py:5: AMP501: later" in told
    assert "fixed" not in told


def test_a_job_shows_at_the_lines_what_the_change_brings(repository: Any, capsys: pytest.CaptureFixture[str]):
    """What was there before and does not block is counted: no reviewer asked for it."""
    repository(b=SCALER)
    assert main(["run", "--stage", "static", "--since", "main", "--format", "github"]) == 0
    rows = Path("reports/latest/annotations.txt").read_text(encoding="utf-8").splitlines()
    assert [row.partition(",")[0] for row in rows[:-2]] == ["::notice file=b.py"]
    assert rows[-2:] == ["verifygate: there before, and in the report: 2 findings", "verifygate: PASS"]


def test_before_a_commit_nothing_is_told_of_the_whole(repository: Any, capsys: pytest.CaptureFixture[str]):
    assert main(["check"]) == 1
    assert "Precision contract" in capsys.readouterr().out
    repository(new=FAULTY.replace("train", "again"))
    assert main(["check", "--since", "main", "new.py"]) == 1
    told = capsys.readouterr().out
    assert "AMP201" in told
    assert "Precision contract" not in told


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("short; and whole", ["t.py:1: short; and whole"]),
        ("a" * 300, ["t.py:1: " + "a" * 300]),
        (f"what it is; {'how it is known, ' * 12}", ["t.py:1: what it is", "how it is known,"]),
        (f"`a; b` is {'x' * 150}; known", [f"t.py:1: `a; b` is {'x' * 150}", "known"]),
    ],
)
def test_a_reason_is_one_line(text: str, lines: list[str]):
    """It is parted where its author parted it; nothing of it is lost."""
    found = folded("t.py:1: ", text)
    assert found[0] == lines[0]
    assert len(found) == 1 or all(len(line) <= WIDTH for line in found[1:])
    assert all(line.startswith(lines[1]) for line in found[1:2])
    assert re.sub(r"[\s;]", "", "".join(found)) == re.sub(r"[\s;]", "", f"t.py:1: {text}")


def test_no_command_is_cut_at_eighty_columns():
    told = CliRunner().invoke(cli, ["--help"], terminal_width=80).output
    assert "Record one run of any script" in told
    assert "`verifygate probe" in told
    assert max(map(len, told.splitlines())) <= 80


def test_code_is_readable_where_nobody_renders_it():
    """A mention, an address and a backslash stand in backticks; only a pipe needs tags, and keeps the rest plain."""
    assert escape.md_prose("see `a\\b` and @someone at https://x.org now") == (
        "see `a\\b` and `@someone` at `https://x.org` now"
    )
    assert escape.md_code("int | None = f(x, 'y')") == "<code>int &#124; None = f(x, 'y')</code>"
    assert "``" not in escape.md_prose("`a`@b `c`")


def test_a_nested_configuration_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    (tmp_path / ".git").mkdir()
    (tmp_path / "trainer").mkdir()
    for folder in (tmp_path, tmp_path / "trainer"):
        (folder / "loop.py").write_text(FAULTY, encoding="utf-8")
        (folder / "verifygate.toml").write_text("[verdict]\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    main(["doctor"])
    assert "trainer/verifygate.toml: in force for what runs in its folder, and not here" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path / "trainer")
    assert main(["init", "--force", "--no-run"]) == 0
    assert f"Found a configuration above: {tmp_path}/verifygate.toml; in this folder" in capsys.readouterr().out
