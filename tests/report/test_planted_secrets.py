"""Secrets in what the audited code and prose tell are in nothing that a command prints or writes."""

from __future__ import annotations

import io
import json
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from verifygate.base.masking import MASK
from verifygate.cli import main
from verifygate.report.formats import claims_formats

OF_THE_MACHINE = "w8\"Xy3Zq7<&Ab'c\\d"
"""Written differently in JSON, in HTML and as Python shows it."""
HUGGING_FACE = "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNmQwErTyUi"
PLANTED = f"with {OF_THE_MACHINE} and {HUGGING_FACE} at the end"
TELLTALE = ("Xy3Zq7", HUGGING_FACE[3:12])
"""A part of each secret that no way of writing it changes."""
SIMULATED = Path(__file__).parent.parent / "performance" / "simulated"
WORKLOAD = f"""
def {HUGGING_FACE}(precision, seed, device="cpu"):
    print({PLANTED!r})
    print({PLANTED!r}, file=sys.stderr)
    if precision == "fp16":
        raise ValueError({PLANTED!r})
    return Sound(precision, seed)
"""
CONFIGURATION = f"""\
[performance]
workload = "workloads:{HUGGING_FACE}"
precision = "bf16"
arms = ["fp16"]
rounds = 3
rounds_max = 3
steps = 2
warmup = 1
train_steps = 3
seeds = [0]
profile = false
"""
TRAINING = f"""\
import sys

import torch

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
print({PLANTED!r})
with torch.autocast("cpu", dtype=torch.float16):
    loss = model(torch.ones(2, 4)).sum()
scaler.scale(loss).backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()
raise RuntimeError({PLANTED!r})
"""
UNSCALED = """\
from torch.cuda.amp import GradScaler

scaler = GradScaler()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOUSE_SIGNING_KEY", OF_THE_MACHINE)
    monkeypatch.setenv("VERIFYGATE_CACHE_DIR", str(tmp_path / "answers"))
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return project


def told(*words: str) -> str:
    """All that the command prints."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        main(words)
    return printed.getvalue()


def leaks(text: str) -> list[str]:
    return [part for part in TELLTALE if part in text]


@pytest.fixture
def measured(folder: Path) -> Path:
    """A project to measure, one of whose arms fails and tells the secrets."""
    shutil.copytree(SIMULATED, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    library = folder / "torch.py"
    library.write_text(library.read_text("utf-8").replace("0.0-simulated", f"0.0-{HUGGING_FACE}"), encoding="utf-8")
    with (folder / "workloads.py").open("a", encoding="utf-8") as file:
        file.write(WORKLOAD)
    (folder / "verifygate.toml").write_text(CONFIGURATION, encoding="utf-8")
    (folder / "cuda").touch()
    return folder


@pytest.mark.parametrize("name", ["text", "json"])
def test_no_output_of_bench_holds_a_secret(measured: Path, name: str) -> None:
    of_the_failing_arm = CONFIGURATION.replace('precision = "bf16"', 'precision = "fp16"').replace(
        '["fp16"]', '["bf16"]'
    )
    (measured / "verifygate.toml").write_text(of_the_failing_arm, encoding="utf-8")
    text = told("bench", "run", "--format", name, "--benchmark-json", "samples.json")
    assert MASK in text
    assert not leaks(text)
    assert not leaks((measured / "samples.json").read_text("utf-8"))


def test_no_record_holds_a_secret_nor_what_is_told_of_it(measured: Path) -> None:
    assert not leaks(told("bench", "record", "-o", "record.json"))
    record = (measured / "record.json").read_text("utf-8")
    assert MASK in record
    assert not leaks(record)
    for name in ("text", "json"):
        assert not leaks(told("bench", "verify", "record.json", "--format", name))
    foreign = json.loads(record)
    foreign["subject"][0]["name"] = HUGGING_FACE
    (measured / "record.json").write_text(json.dumps(foreign), encoding="utf-8")
    for name in ("text", "json"):
        shown = told("bench", "verify", "record.json", "--format", name)
        assert MASK in shown
        assert not leaks(shown)


@pytest.mark.parametrize("name", ["text", "json", "html"])
def test_no_output_of_probe_holds_a_secret(folder: Path, name: str) -> None:
    (folder / "train.py").write_text(TRAINING, encoding="utf-8")
    text = told("probe", "--format", name, "--show-output", "--", sys.executable, "train.py", f"--token={HUGGING_FACE}")
    assert MASK in text
    assert "AMP201" in text
    assert not leaks(text)


@pytest.mark.parametrize("name", claims_formats())
def test_no_output_of_claims_holds_a_secret(folder: Path, name: str) -> None:
    (folder / "report.md").write_text(
        f"# Note\n\nSee `{HUGGING_FACE}/train.py:8` and `{OF_THE_MACHINE}/train.py:9`.\n", encoding="utf-8"
    )
    text = told("claims", "report.md", "--format", name)
    assert MASK in text
    assert not leaks(text)


def test_no_output_of_sweep_holds_a_secret(folder: Path) -> None:
    """Nor an answer that is kept; the second time the rows are made of those."""
    (folder / "unit" / HUGGING_FACE).mkdir(parents=True)
    (folder / "unit" / HUGGING_FACE / "train.py").write_text(UNSCALED, encoding="utf-8")
    (folder / "list.txt").write_text("unit\n", encoding="utf-8")
    for _ in range(2):
        text = told("sweep", "list.txt", "--workers", "1", "--out", "out")
        written = [path for place in ("out", "../answers") for path in sorted((folder / place).rglob("*.*"))]
        assert [path.suffix for path in written] == [".html", ".json", ".md", ".json"]
        assert MASK in written[1].read_text("utf-8")
        assert not [path.name for path in written if leaks(path.read_text("utf-8"))]
        assert not leaks(text)
