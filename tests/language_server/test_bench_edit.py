"""How long an edit takes to be answered, from the keystroke to the findings, on a project of 100 files.

The server is a process of its own, and the time holds all of it: the protocol, the queue and the analysis. It says
nothing about a project of another kind: the time grows with the code that trains, and hardly with the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from protocol_editor import LOOP, Editor

ROOT = Path(__file__).parent.parent.parent
FILES = 100
MODEL = """\
from __future__ import annotations

import torch
from torch import nn


class Block{number}(nn.Module):
    \"\"\"Attention and a feed-forward layer.\"\"\"

    def __init__(self, width: int, heads: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.drop = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        parts = (self.query, self.key, self.value)
        query, key, value = (each(self.norm(x)).view(shape).transpose(1, 2) for each in parts)
        scores = query @ key.transpose(-1, -2) / (width // self.heads) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, width)
        x = x + self.drop(self.out(mixed))
        return x + self.drop(self.feed(self.norm(x)))


def rows_of_{number}(path: str, length: int) -> list[list[int]]:
    \"\"\"Cut a file into rows of one length.\"\"\"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    words = {{word: number for number, word in enumerate(sorted(set(text.split())))}}
    ids = [words[word] for word in text.split()]
    return [ids[at : at + length] for at in range(0, len(ids) - length, length)]


def report_{number}(losses: list[float], every: int = 10) -> str:
    \"\"\"A line for every so many losses.\"\"\"
    means = [sum(losses[at : at + every]) / every for at in range(0, len(losses), every)]
    return "\\n".join(f"{{at * every:6d}} {{mean:.4f}}" for at, mean in enumerate(means))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """`reference_impl`, which trains, beside models and tools; one more loop is the file that is edited."""
    (tmp_path / ".git").mkdir()
    for file in sorted((ROOT / "reference_impl").rglob("*.py")):
        there = tmp_path / file.relative_to(ROOT)
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_bytes(file.read_bytes())
    (tmp_path / "train.py").write_text(LOOP, encoding="utf-8")
    (tmp_path / "models").mkdir()
    for number in range(FILES - len(list(tmp_path.rglob("*.py")))):
        (tmp_path / "models" / f"block_{number}.py").write_text(MODEL.format(number=number), encoding="utf-8")
    assert len(list(tmp_path.rglob("*.py"))) == FILES
    return tmp_path


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    running = asyncio.new_event_loop()
    yield running
    running.close()


@pytest.mark.parametrize("name", ["train.py", "models/block_7.py"])
def test_an_edit_of_one_file_of_a_hundred(benchmark: Any, project: Path, loop: asyncio.AbstractEventLoop, name: str):
    """A loop that trains, and a model that it does not name."""
    editor = Editor(project)
    loop.run_until_complete(editor.start())
    text = (project / name).read_text(encoding="utf-8")
    loop.run_until_complete(editor.diagnostics(name, editor.open(name)))
    rounds = iter(range(1, 1000))

    def edit() -> list[object]:
        version = editor.change(name, f"{text}# {next(rounds)}\n")
        return [each.code for each in loop.run_until_complete(editor.diagnostics(name, version))]

    def rest() -> None:
        loop.run_until_complete(asyncio.sleep(0.5))  # nobody types without end: what lies about is collected meanwhile

    found = benchmark.pedantic(edit, setup=rest, rounds=10, warmup_rounds=2)
    assert found == (["AMP201"] if name == "train.py" else [])
    loop.run_until_complete(editor.stop())
