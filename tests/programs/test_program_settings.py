"""Tiny settings: only options that are declared, with values of their types and among their choices."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from verifygate.model import Program
from verifygate.programs import found_programs
from verifygate.sources.discovery import read_sources

Found = Callable[[dict[str, str]], tuple[Program, ...]]

STEP = """\


def train(model, optimizer, batches):
    for batch in batches:
        model(batch).backward()
        optimizer.step()
"""
ARGPARSE = (
    "import argparse\nimport torch\n"
    + STEP
    + """

parser = argparse.ArgumentParser()
{options}
args = parser.parse_args()
train(None, None, ())
"""
)


def settings(source: str, found: Found) -> list[str]:
    (program,) = found({"train.py": source})
    return shlex.split(program.command)[2:]


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("'--epochs', type=int, default=90", ["--epochs", "1"]),
        ("'-e', '--num-epochs', type=int, default=3", ["--num-epochs", "1"]),
        ("'--epochs', type=int, default=1", []),
        ("'--epochs', type=parse, default='3ep'", []),
        ("'--max_steps', type=int, default=-1", ["--max_steps", "20"]),
        ("'--save-steps', type=int, default=500", []),
        ("'-b', '--batch-size', default=256, type=int", ["--batch-size", "4"]),
        ("'--batch-size', type=int, default=64, choices=[32, 64, 8]", ["--batch-size", "8"]),
        ("'--workers', type=int, default=8", ["--workers", "0"]),
        ("'--img-size', type=int, default=224", ["--img-size", "64"]),
        ("'--img-size', type=int, default=96", []),
        ("'--input-size', type=int, nargs=3", ["--input-size", "3", "64", "64"]),
        ("'--block_size', type=int, default=1024", ["--block_size", "32"]),
        ("'--n_layer', type=int, default=12", ["--n_layer", "2"]),
        ("'--depth', type=int, default=110", []),
        ("'--dataset', choices=['mnist', 'synthetic'], default='mnist'", ["--dataset", "synthetic"]),
        ("'--dataset', choices=['mnist', 'cifar'], default='mnist'", []),
        ("'--dataset', default='mnist'", []),
        ("'--dummy', action='store_true'", ["--dummy"]),
        ("'--model', choices=['vit_base', 'vit_tiny'], default='vit_base'", ["--model", "vit_tiny"]),
        ("'--amp', action='store_true'", ["--amp"]),
        ("'--amp', action='store_true', default=True", []),
        ("'--no-amp', action='store_false', dest='amp'", []),
        ("'--amp', action=argparse.BooleanOptionalAction, default=False", ["--amp"]),
        ("'--use_amp', type=str2bool, default=False", ["--use_amp", "true"]),
        ("'--mixed_precision', choices=['no', 'bf16', 'fp16']", ["--mixed_precision", "fp16"]),
        ("'--precision', choices=['32', 'bf16-mixed'], default='32'", ["--precision", "bf16-mixed"]),
        ("'--output-dir', default='./out'", ["--output-dir", "{temporary}"]),
        ("'--save', default='model.pt'", ["--save", "{temporary}/model.pt"]),
        ("'--project', default='convnext'", []),
        ("'--model_save_path', default='out/model.pt'", ["--model_save_path", "{temporary}/model.pt"]),
        ("'--model_path', default='gpt2'", []),
        ("'--checkpoint_dir', default='cp'", ["--checkpoint_dir", "{temporary}"]),
        ("'--checkpoint_dir', default=None", []),
        ("'--accumulation-steps', type=int, default=8", ["--accumulation-steps", "2"]),
        ("'--accumulation-steps', type=int", []),
        ("'--log-interval', type=int, default=10", []),
        ("'--lr', type=float, default=0.1", []),
        ("'--local_rank', type=int, required=True", ["--local_rank", "0"]),
        ("name, type=int, default=10", []),
    ],
)
def test_what_argparse_declares(declared: str, words: list[str], found: Found) -> None:
    """Nothing else is proposed than what the parser declares; what is small already is left alone."""
    assert settings(ARGPARSE.format(options=f"parser.add_argument({declared})"), found) == words


def test_the_parser_takes_what_is_proposed(found: Found) -> None:
    """The words of one command, given to the parser that declares them."""
    declared = [
        (("--epochs",), {"type": int, "default": 90}), (("-b", "--batch-size"), {"type": int, "default": 256}),
        (("--img-size",), {"type": int, "default": 224}), (("--input-size",), {"type": int, "nargs": 3}),
        (("--amp",), {"action": "store_true"}), (("--output",), {"default": ""}),
        (("--precision",), {"choices": ["32", "16-mixed"], "default": "32"}),
    ]  # fmt: skip
    parser = argparse.ArgumentParser()
    lines = []
    for names, how in declared:
        parser.add_argument(*names, **how)
        written = ", ".join(f"{key}={value.__name__ if value is int else repr(value)}" for key, value in how.items())
        lines.append(f"parser.add_argument({', '.join(map(repr, names))}, {written})")
    assert vars(parser.parse_args(settings(ARGPARSE.format(options="\n".join(lines)), found))) == {
        "epochs": 1, "batch_size": 4, "img_size": 64, "input_size": [3, 64, 64], "amp": True, "output": "{temporary}",
        "precision": "16-mixed",
    }  # fmt: skip


def test_the_width_of_attention_is_left_alone_without_its_heads(found: Found) -> None:
    """Heads divide it: it is set with their number, or where there are none."""
    attention = "parser.add_argument('--d_model', type=int, default=512)\nlayer = torch.nn.MultiheadAttention(512, 12)"
    heads = "\nparser.add_argument('--nhead', type=int, default=8)"
    assert settings(ARGPARSE.format(options=attention), found) == []
    assert settings(ARGPARSE.format(options=attention + heads), found) == ["--d_model", "32", "--nhead", "2"]


CLICK = """
import click, torch
{step}

@click.command()
@click.option("--epochs", default=10)
@click.option("--amp/--no-amp", default=False)
@click.option("--data", type=click.Choice(["real", "fake"]), required=True)
def main(epochs, amp, data):
    train(None, None, ())


if __name__ == "__main__":
    main()
"""
TYPER = """
import torch, typer
from typing import Annotated
{step}

def main(epochs: int = 10, batch_size: Annotated[int, typer.Option("--bs")] = 64, amp: bool = False):
    train(None, None, ())


if __name__ == "__main__":
    typer.run(main)
"""
TYRO = """
import torch, tyro
from dataclasses import dataclass, field
from typing import Literal
{step}

@dataclass
class Args:
    num_epochs: int = 5
    precision: Literal["fp32", "fp16"] = "fp32"
    lr: float = 0.1


if __name__ == "__main__":
    args = tyro.cli(Args)
    train(None, None, ())
"""
HUGGING_FACE = """
import torch
from dataclasses import dataclass, field
from transformers import HfArgumentParser, TrainingArguments
{step}

@dataclass
class DataArguments:
    max_seq_length: int = field(default=512)


def main():
    parser = HfArgumentParser((DataArguments, TrainingArguments))
    parser.parse_args_into_dataclasses()
    train(None, None, ())


if __name__ == "__main__":
    main()
"""
ABSL = """
import torch
from absl import app, flags
{step}

flags.DEFINE_integer("epochs", 10, "how many")
flags.DEFINE_enum("dataset", "mnist", ["mnist", "fake"], "which")
flags.DEFINE_bool("use_amp", False, "mixed precision")


def main(_):
    train(None, None, ())


if __name__ == "__main__":
    app.run(main)
"""
CONFIGURATOR = """
import torch
max_iters = 600000
accumulation_steps = 5 * 8
batch_size = 12
compile = True
rate = 0.1
exec(open('configurator.py').read())
n_layer = 12
{step}

train(None, None, ())
"""
JSONARGPARSE = """
import jsonargparse, torch
{step}

def main(lr: float, epochs: int = 10, use_amp: bool = False):
    train(None, None, ())


if __name__ == "__main__":
    jsonargparse.auto_cli(main)
"""
LIGHTNING = """
import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.cli import LightningCLI
{step}

class Net(LightningModule):
    def __init__(self, hidden_dim: int = 512, lr: float = 0.1):
        super().__init__()


class Data:
    def __init__(self, batch_size=64):
        pass


LightningCLI(Net, datamodule_class=Data)
"""


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (CLICK, ["--epochs", "1", "--amp", "--data", "fake"]),
        (TYPER, ["--epochs", "1", "--bs", "4", "--amp"]),
        (TYRO, ["--num-epochs", "1", "--precision", "fp16"]),
        (
            HUGGING_FACE,
            ["--max_seq_length", "32", "--output_dir", "{temporary}", "--num_train_epochs", "1", "--max_steps", "20",
             "--per_device_train_batch_size", "4", "--per_device_eval_batch_size", "4", "--fp16"],
        ),
        (ABSL, ["--epochs=1", "--dataset=fake", "--use_amp"]),
        (CONFIGURATOR, ["--max_iters=20", "--accumulation_steps=2", "--batch_size=4", "--compile=False"]),
        (JSONARGPARSE, ["--epochs=1", "--use_amp=True"]),
        (
            LIGHTNING,
            ["fit", "--model.hidden_dim=32", "--data.batch_size=4", "--trainer.max_epochs=1",
             "--trainer.limit_train_batches=20", "--trainer.precision=16-mixed",
             "--trainer.default_root_dir={temporary}"],
        ),
        (
            LIGHTNING.replace("datamodule_class=Data", "run=False"),
            ["--model.hidden_dim=32", "--trainer.max_epochs=1", "--trainer.limit_train_batches=20",
             "--trainer.precision=16-mixed", "--trainer.default_root_dir={temporary}"],
        ),
    ],
    ids=["click", "typer", "tyro", "hugging-face", "absl", "configurator", "jsonargparse", "lightning", "no-command"],
)  # fmt: skip
def test_what_other_libraries_declare(source: str, words: list[str], found: Found) -> None:
    assert settings(source.format(step=STEP), found) == words


YACS = """
import argparse, torch
from settings import get_cfg_defaults
{step}

parser = argparse.ArgumentParser()
parser.add_argument("--config-file", default="")
parser.add_argument(OPTS, nargs=argparse.REMAINDER)
args = parser.parse_args()
cfg = get_cfg_defaults()
{merged}
train(None, None, ())
"""
NODES = """
from yacs.config import CfgNode as CN

_C = CN()
_C.SOLVER = CN()
_C.SOLVER.MAX_ITER = 40000
_C.SOLVER.WARMUP_EPOCHS = 5.0
_C.SOLVER.IMS_PER_BATCH = 16
_C.AMP = CN()
_C.AMP.ENABLED = False
_C.OUTPUT_DIR = "./out"


def get_cfg_defaults():
    return _C.clone()
"""
SET_BY_YACS = ["SOLVER.MAX_ITER", "20", "SOLVER.IMS_PER_BATCH", "4", "AMP.ENABLED", "True", "OUTPUT_DIR", "{temporary}"]


@pytest.mark.parametrize(
    ("option", "merged", "words"),
    [
        ("'opts'", "cfg.merge_from_list(args.opts)", SET_BY_YACS),
        ("'--opts'", "cfg.merge_from_list(args.opts)", ["--opts", *SET_BY_YACS]),
        ("'opts'", "cfg.freeze()", []),
    ],
)
def test_what_a_node_of_yacs_holds(option: str, merged: str, words: list[str], found: Found) -> None:
    """Where words of the command line are merged into it; a float stays, since yacs takes no integer for it."""
    source = YACS.format(step=STEP, merged=merged).replace("OPTS", option)
    (program,) = found({"train.py": source, "settings.py": NODES})
    assert shlex.split(program.command)[2:] == words


HYDRA = """
import hydra, torch
from dataclasses import dataclass
from hydra.core.config_store import ConfigStore
{step}

@dataclass
class Optimizer:
    lr: float = 0.1
    warmup_epochs: int = 5


@dataclass
class Config:
    optimizer: Optimizer
    epochs: int = 90


ConfigStore.instance().store(name="structured", node=Config)


@hydra.main(version_base=None, config_path=PATH, config_name=NAME)
def main(cfg):
    train(None, None, ())


if __name__ == "__main__":
    main()
"""
CONFIGURED = {
    "conf/config.yaml": "defaults: [_self_, {data: cifar}, {model: base}, {override hydra/job_logging: none}]\n"
    "amp: {enabled: false}\ntrainer: {max_epochs: 90, clip: 1.0}\nout_dir: ${hydra:runtime.output_dir}\n",
    "conf/data/cifar.yaml": "batch_size: 256\n",
    "conf/model/base.yaml": "defaults: [{encoder: big}, {/data@extra: cifar}]\n_target_: x.Y\nnum_layers: 12\n",
    "conf/model/encoder/big.yaml": "num_layers: 24\n",
}
RUN_DIR = "hydra.run.dir={temporary}"
AROUND = ["amp.enabled=True", "trainer.max_epochs=1", "out_dir={temporary}"]


def test_what_hydra_composes(found: Found) -> None:
    """Keys of all files in the defaults list by their packages, and nothing of another group's file."""
    source = HYDRA.format(step=STEP).replace("PATH", "'conf'").replace("NAME", "'config'")
    (program,) = found({"train.py": source, **CONFIGURED})
    assert shlex.split(program.command)[2:] == [
        *AROUND, "data.batch_size=4", "model.encoder.num_layers=2", "model.extra.batch_size=4", "model.num_layers=2",
        RUN_DIR,
    ]  # fmt: skip
    assert program.obstacles == ()


def test_a_group_that_is_made_up_brings_its_own_keys(found: Found) -> None:
    source = HYDRA.format(step=STEP).replace("PATH", "'conf'").replace("NAME", "'config'")
    made_up = {"conf/data/fake.yaml": "workers: 8\n", "conf/model/tiny.yaml": "weights: ???\n"}
    (program,) = found({"train.py": source, **CONFIGURED, **made_up})
    assert shlex.split(program.command)[2:] == ["data=fake", "model=tiny", *AROUND, "data.workers=0", RUN_DIR]
    assert program.obstacles == ("needs model.weights=WEIGHTS",)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("'structured'", ["optimizer.warmup_epochs=0", "epochs=1", RUN_DIR]),
        ("'unknown'", [RUN_DIR]),
        ("'broken'", [RUN_DIR]),
    ],
)
def test_what_no_file_of_hydra_says(name: str, words: list[str], found: Found) -> None:
    """A dataclass in the store counts; a file that is not there, or is no YAML, says nothing."""
    source = HYDRA.format(step=STEP).replace("PATH", "'conf'").replace("NAME", name)
    (program,) = found({"train.py": source, "conf/broken.yaml": "a: [1\n", "conf/defaults.yaml": "epochs: 3\n"})
    assert shlex.split(program.command)[2:] == words


BOMB = "lr: 0.1\na0: &a0 {}\n" + "".join(
    f"a{level}: &a{level} {{{', '.join(f'k{key}: *a{level - 1}' for key in range(9))}}}\n" for level in range(1, 10)
)


@pytest.mark.parametrize("text", ["epochs: 90\nagain: &a\n  more: *a\n", BOMB], ids=["holds itself", "bomb"])
def test_a_file_of_hydra_that_has_no_end_says_nothing(text: str, found: Found) -> None:
    source = HYDRA.format(step=STEP).replace("PATH", "'conf'").replace("NAME", "'config'")
    (program,) = found({"train.py": source, "conf/config.yaml": text})
    assert shlex.split(program.command)[2:] == [RUN_DIR]


@pytest.mark.parametrize("where", ["/dev/zero", "../outside.yaml", "config.yaml"])
def test_a_link_that_leads_out_of_the_project_is_not_read(where: str, tmp_path: Path) -> None:
    """Nor one to a device, which has no end either, or to itself."""
    (tmp_path / "outside.yaml").write_text("epochs: 90\n", encoding="utf-8")
    root = tmp_path / "project"
    (root / "conf").mkdir(parents=True)
    (root / "conf/config.yaml").symlink_to(where if where[0] != "." else tmp_path / "outside.yaml")
    source = HYDRA.format(step=STEP).replace("PATH", "'conf'").replace("NAME", "'config'")
    (root / "train.py").write_text(source, encoding="utf-8")
    (program,) = found_programs(read_sources(root, (".",)), root)
    assert shlex.split(program.command)[2:] == [RUN_DIR]
