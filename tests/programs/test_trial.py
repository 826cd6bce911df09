"""Programs that were found are started before they are written down, with settings that the program takes together."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from verifygate.config.settings import Settings
from verifygate.model.program import Program
from verifygate.programs import found_programs
from verifygate.programs.trial import tried
from verifygate.sources.discovery import read_sources

TRAIN = """\
import argparse

import torch


class Attention(torch.nn.Module):
    def __init__(self, args):
        super().__init__()
        width, heads = args.dim, args.n_heads
        groups = args.n_kv_heads
        {check}
        self.n_heads = heads
        self.query = torch.nn.Linear(width, width)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--n_heads", type=int, default=6)
    parser.add_argument("--n_kv_heads", type=int, default=6)
    parser.add_argument("--dim", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=100)
    model = Attention(parser.parse_args()).query
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(torch.ones(1, 12)).sum()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
"""
SMALLER = "python train.py --n_heads 2 --epochs 1"
KEPT = "python train.py --epochs 1"


@pytest.mark.parametrize(
    ("check", "command"),
    [
        ("assert args.n_heads % groups == 0", KEPT),
        ("assert args.n_heads % groups == 0 and width > 0", KEPT),
        ("if args.n_heads < args.n_kv_heads:\n            raise ValueError", KEPT),
        ("if args.n_heads % groups:\n            raise ValueError", KEPT),
        ("assert width % args.n_heads == 0", SMALLER),
        ("assert args.n_heads % unknown() == 0", SMALLER),
        ("assert args.n_heads > 6", SMALLER),  # the defaults fail it as well
        ("assert args.n_heads % 0 == 0", SMALLER),
    ],
)
def test_settings_that_the_program_refuses_together_are_not_proposed(tmp_path: Path, check: str, command: str) -> None:
    (tmp_path / "train.py").write_text(TRAIN.replace("{check}", check), encoding="utf-8")
    (found,) = found_programs(read_sources(tmp_path, (".",)), tmp_path)
    assert found.command == command


def program(command: str, *obstacles: str) -> Program:
    return Program(command=command, path="t.py", line=1, step="s", needs_cuda=False, obstacles=obstacles)


def test_what_is_certain_to_lack_something_is_not_started(tmp_path: Path) -> None:
    settings = Settings(root=tmp_path, today=dt.date(2026, 1, 1))
    given = (program("python a.py", "needs --data PATH"),)
    assert tried(given, settings) == given


@pytest.mark.slow
def test_a_model_that_cannot_be_made_smaller_is_started_as_it_is(tmp_path: Path) -> None:
    """No assert says that half a head's width is no whole number: only a run shows it."""
    halves = TRAIN.replace("{check}", "torch.ones(1, width // heads).reshape(-1, 2)")
    (tmp_path / "train.py").write_text(halves, encoding="utf-8")
    (tmp_path / "broken.py").write_text(halves.replace("reshape(-1, 2)", "reshape(-1, 7)"), encoding="utf-8")
    small = "python {}.py --n_heads 4 --epochs 1"
    given = [
        program(small.format(name)).model_copy(update={"full_size": f"python {name}.py --epochs 1"})
        for name in ("train", "broken")
    ]

    runs, breaks = tried(given, Settings(root=tmp_path, today=dt.date(2026, 1, 1)))

    assert (runs.command, runs.obstacles) == ("python train.py --epochs 1", ())
    assert breaks.command == small.format("broken")
    assert breaks.obstacles[0].startswith("it raised RuntimeError")


def test_the_command_of_full_size_leaves_the_model_alone(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.replace("{check}", "pass"), encoding="utf-8")
    (found,) = found_programs(read_sources(tmp_path, (".",)), tmp_path)
    assert (found.command, found.full_size) == (SMALLER, KEPT)


@pytest.mark.slow
def test_each_program_says_what_a_run_of_it_showed(tmp_path: Path) -> None:
    """It trains; it raises, with the values of the line; it opens what is not there; it makes no step."""
    trains = TRAIN.replace("{check}", "assert heads % groups == 0")
    (tmp_path / "train.py").write_text(trains, encoding="utf-8")
    (tmp_path / "opens.py").write_text("import torch\n\nopen('/no/such/data.bin')\n", encoding="utf-8")
    (tmp_path / "idle.py").write_text("import torch\n", encoding="utf-8")
    commands = ("python train.py", "python train.py --n_heads 2", "python opens.py", "python idle.py")
    doubts = ("may download: x.py:1", "downloads: x.py:2", "logs to a service, wandb: x.py:3")
    given = [program(each, *(doubts if each == "python train.py" else ())) for each in commands]

    runs, refuses, lacks, idle = tried(given, Settings(root=tmp_path, today=dt.date(2026, 1, 1)))

    assert runs.runs
    assert refuses.obstacles[0].startswith(
        "it raised AssertionError, at train.py:11: `assert heads % groups == 0`, where heads = 2, groups = 6"
    )
    assert "provide what is missing here, a file or a connection" in lacks.obstacles[0]
    assert idle.obstacles == ("it ends before any optimizer makes a step",)
