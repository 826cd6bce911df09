"""Which files are programs that train, how they are started, and what keeps them from running."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verifygate.model import Program

Found = Callable[[dict[str, str]], tuple[Program, ...]]

STEP = """\
import torch


def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def evaluate(model, batches):
    return [model(batch) for batch in batches]
"""
MAIN = """\
from engine import train, evaluate


def main():
    {body}


if __name__ == "__main__":
    main()
"""
TRAIN = MAIN.format(body="train(None, None, ())")
PLAIN = """\
import torch

for batch in torch.ones(3):
    batch.backward()
    optimizer.step()
"""
"""It trains, and no AMP is in it."""


def commands(programs: tuple[Program, ...]) -> list[str]:
    return [each.command for each in programs]


def test_a_program_is_followed_to_its_step(found: Found) -> None:
    """Over files; what imports the same module and only evaluates is none, nor is the module itself."""
    only = MAIN.format(body="evaluate(None, ())")
    (program,) = found({"engine.py": STEP, "main.py": TRAIN, "predict.py": only})
    assert program == Program(
        command="python main.py", path="engine.py", line=10, step="scaler.scale(loss).backward()", needs_cuda=True
    )
    assert (program.setting, program.runs) == ("emulated_entries", True)


def test_a_file_that_trains_at_its_top_level(found: Found) -> None:
    """No `if __name__` is needed, where nothing imports the file; without CUDA in it, nothing is emulated."""
    (program,) = found({"go.py": f"{STEP.replace('cuda', 'cpu')}\n\ntrain(None, None, ())\n"})
    assert (program.command, program.setting) == ("python go.py", "entries")


@pytest.mark.parametrize(
    "start",
    [
        "torch.multiprocessing.spawn(main, nprocs=1)",
        "app = typer.Typer()\n\n\n@app.command()\ndef go():\n    main()\n\n\napp()",
        "@hydra.main(config_path=None)\ndef go(cfg):\n    main()\n\n\ngo()",
    ],
    ids=["spawn", "typer", "decorator"],
)
def test_what_is_handed_over_or_decorated_is_followed(start: str, found: Found) -> None:
    text = TRAIN.partition("if __name__")[0]
    (command,) = commands(found({"engine.py": STEP, "run.py": f"import hydra, torch, typer\n{text}\n{start}\n"}))
    assert command.startswith("python run.py")


@pytest.mark.parametrize(
    ("source", "trains"),
    [
        ("import lightning\n\ntrainer = lightning.Trainer()\ntrainer.fit(None)\n", True),
        ("from transformers import Trainer\n\ntrainer = Trainer()\ntrainer.train()\n", True),
        ("from sklearn.linear_model import LinearRegression\n\nmodel = LinearRegression()\nmodel.fit([], [])\n", False),
        ("import torch\n\nmodel = torch.nn.Linear(1, 1)\nmodel.train()\n", False),
        ("import torch\n\nx = torch.ones(1, requires_grad=True)\nx.sum().backward()\n", False),
    ],
    ids=["lightning", "transformers", "sklearn", "train-mode", "gradient-alone"],
)
def test_what_counts_as_training(source: str, trains: bool, found: Found) -> None:
    """A framework's fit counts; another library's, the mode of a model, and a backward without an optimizer do not."""
    assert commands(found({"go.py": source})) == (["python go.py"] if trains else [])


def test_the_most_promising_comes_first(found: Found) -> None:
    """What has AMP, alone; what runs before what lacks something; then by name, and by depth. What is aside goes."""
    own = f"{STEP}\n\nif __name__ == '__main__':\n    train(None, None, ())\n"
    files = {f"{name}.py": own for name in ("other", "main", "train", "deep/train", "bench_it", "legacy/train")}
    files["plain_train.py"] = PLAIN
    files["train_lacks.py"] = own.replace("    train(", "    open('corpus.txt')\n    train(")
    assert commands(found(files)) == [
        "python train.py", "python deep/train.py", "python main.py", "python other.py", "python train_lacks.py",
    ]  # fmt: skip


def test_a_script_that_imports_from_its_own_folder(found: Found) -> None:
    """As a script: its folder is on the module path then, and as a module it would not be."""
    assert commands(found({"tools/engine.py": STEP, "tools/train.py": TRAIN, "tools2/x.py": ""})) == [
        "python tools/train.py"
    ]


@pytest.mark.parametrize(
    ("path", "command", "problem"),
    [
        ("pkg/train.py", "python -m pkg.train", ""),
        ("tools/train.py", "python -m tools.train", ""),
        ("pkg/__main__.py", "python -m pkg", ""),
        ("src/pkg/train.py", "python -m pkg.train", ""),
        ("my-tools/train.py", "python my-tools/train.py", "imports from the project's root"),
    ],
)
def test_how_it_is_started(path: str, command: str, problem: str, found: Found) -> None:
    """As a module where it imports from the root or from its package; a folder that is no name says what is wrong."""
    files = {"engine.py": STEP, path: TRAIN}
    if path.split("/")[-2] == "pkg":
        files[path.rpartition("/")[0] + "/__init__.py"] = ""
    (program,) = found(files)
    assert program.command == command
    assert [each[: len(problem)] for each in program.obstacles] == ([problem] if problem else [])


PARSED = """\
import argparse
import os
import torch
import torchvision
from engine import train


def main():
    parser = argparse.ArgumentParser()
    {options}
    args = parser.parse_args()
    {body}
    train(None, None, ())


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("options", "body", "obstacles"),
    [
        ("", "pass", ()),
        ("parser.add_argument('--data', required=True, metavar='PATH')", "pass", ("needs --data PATH",)),
        ("parser.add_argument('data')", "pass", ("needs DATA",)),
        ("parser.add_argument('--data-path')", "pass", ("may need --data-path DATA_PATH",)),
        (
            "parser.add_argument('--data-path', default='/sets/imagenet')",
            "pass",
            ("needs --data-path DATA_PATH: its default `/sets/imagenet` is not here",),
        ),
        ("", "torchvision.datasets.MNIST('.', download=True)", ("downloads: train.py:12",)),
        ("parser.add_argument('--pretrained', action='store_true')",
         "if args.pretrained:\n        torch.hub.load_state_dict_from_url('u')", ()),
        ("parser.add_argument('--set', default='cifar')",
         "if args.set == 'mnist':\n        torchvision.datasets.MNIST('.', download=True)", ()),
        ("parser.add_argument('--set', default='mnist')",
         "if args.set == 'mnist':\n        torchvision.datasets.MNIST('.', download=True)",
         ("downloads: train.py:13",)),
        ("", "if not os.path.exists('x'):\n        torchvision.datasets.MNIST('.', download=True)",
         ("downloads: train.py:13",)),
        ("", "if os.getpid() > 7:\n        torchvision.datasets.MNIST('.', download=True)",
         ("may download: train.py:13",)),
        ("", "open('corpus.txt')", ("reads `corpus.txt`, which is not here: train.py:12",)),
        ("", "open('report.txt', 'w')", ()),
        ("parser.add_argument('--config', default='')", "open(args.config)", ("needs --config CONFIG",)),
        ("parser.add_argument('--config', default='')", "if args.config:\n        open(args.config)", ()),
        ("parser.add_argument('--input_wavs_dir', default='LibriTTS')", "pass",
         ("needs --input_wavs_dir INPUT_WAVS_DIR: its default `LibriTTS` is not here",)),
        ("", "if os.path.exists('corpus.txt'):\n        open('corpus.txt')", ()),
        ("", "os.environ['LOCAL_RANK']", ("is started by torchrun: train.py:12",)),
        ("", "os.environ.get('LOCAL_RANK')", ()),
        ("", "torch.distributed.init_process_group('gloo')", ("is started by torchrun: train.py:12",)),
        ("parser.add_subparsers()", "pass", ("asks for a sub-command",)),
    ],
)  # fmt: skip
def test_what_keeps_it_from_running(options: str, body: str, obstacles: tuple[str, ...], found: Found) -> None:
    """Each is said; what an option that is off by default would bring is none."""
    (program,) = found({"engine.py": STEP, "train.py": PARSED.format(options=options or "pass", body=body)})
    assert program.obstacles == obstacles


def test_data_that_is_made_up_is_neither_missed_nor_fetched(found: Found) -> None:
    options = "parser.add_argument('--dataset', required=True, help='mnist | fake')"
    body = "torchvision.datasets.MNIST('.', download=True)"
    (program,) = found({"engine.py": STEP, "train.py": PARSED.format(options=options, body=body)})
    assert (program.command, program.obstacles) == ("python train.py --dataset fake", ())


def test_without_amp_anywhere_what_trains_is_found(found: Found) -> None:
    assert commands(found({"plain_train.py": PLAIN, "bench_it.py": PLAIN})) == ["python plain_train.py"]


def test_a_file_that_cannot_be_parsed_is_no_program(found: Found) -> None:
    """It is not an error either: the static stage tells of it."""
    files = {"engine.py": STEP, "main.py": TRAIN, "train.py": "if __name__ == '__main__':\n  .backward(\n"}
    assert commands(found(files)) == ["python main.py"]
