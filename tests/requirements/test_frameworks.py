"""What the report says of frameworks is what they do: the installed ones are asked, in a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from verifygate.requirements.frameworks import FRAMEWORKS, UNNAMED, framework_of
from verifygate.torch_names import DELEGATES

LIGHTNING = """
import json, warnings
import torch
warnings.simplefilter("ignore")
import lightning.fabric.plugins.precision.amp as fabric
import lightning.pytorch.plugins.precision.amp as pl
from lightning.fabric import Fabric
from lightning.pytorch import Trainer

def seen(plugin):
    with plugin.forward_context():
        entered = torch.is_autocast_enabled("cpu")
    made = type(plugin.scaler)
    return [entered, None if plugin.scaler is None else f"{made.__module__}.{made.__name__}"]

quiet = {"accelerator": "cpu", "devices": 1}
print(json.dumps({
    "trainer 16": seen(pl.MixedPrecision("16-mixed", "cpu")),
    "trainer bf16": seen(pl.MixedPrecision("bf16-mixed", "cpu")),
    "fabric 16": seen(fabric.MixedPrecision("16-mixed", "cpu")),
    "fabric bf16": seen(fabric.MixedPrecision("bf16-mixed", "cpu")),
    "trainer on cpu": Trainer(precision="16-mixed", logger=False, enable_checkpointing=False, **quiet).precision,
    "trainer, old word": Trainer(precision="16", logger=False, enable_checkpointing=False, **quiet).precision,
    "fabric on cpu": Fabric(precision="16-mixed", **quiet)._precision.precision,
}))
"""
ACCELERATE = """
import json, warnings
import torch
warnings.simplefilter("ignore")
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils.modeling import get_grad_scaler

class Model(torch.nn.Module):
    def forward(self, x):
        seen.append(torch.is_autocast_enabled("cpu"))
        return x

seen = []
bf16 = Accelerator(cpu=True, mixed_precision="bf16")
bf16.prepare(Model())(torch.ones(1))
made = get_grad_scaler()
AcceleratorState._reset_state(reset_partial_state=True)
off = Accelerator(cpu=True, mixed_precision="fp16")
off.prepare(Model())(torch.ones(1))
print(json.dumps({
    "entered": seen, "bf16": bf16.scaler, "fp16": f"{type(made).__module__}.{type(made).__name__}",
    "fp16 on cpu": [off.mixed_precision, off.native_amp, off.scaler],
}))
"""
TORCHS_OWN = "torch.amp.grad_scaler.GradScaler"


def asked(script: str) -> dict[str, object]:
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert ended.returncode == 0, ended.stderr
    answer: dict[str, object] = json.loads(ended.stdout.splitlines()[-1])
    return answer


@pytest.mark.slow
def test_lightning_does_what_the_report_says_of_it():
    """`16-mixed` is torch's autocast and torch's GradScaler, `bf16-mixed` autocast alone, and the CPU takes bf16."""
    pytest.importorskip("lightning")
    assert asked(LIGHTNING) == {
        "trainer 16": [True, TORCHS_OWN],
        "trainer bf16": [True, None],
        "fabric 16": [True, TORCHS_OWN],
        "fabric bf16": [True, None],
        "trainer on cpu": "bf16-mixed",
        "trainer, old word": "bf16-mixed",
        "fabric on cpu": "bf16-mixed",
    }
    assert framework_of("lightning.pytorch.Trainer").does == (
        "with `16-mixed` (also written `16`) it enters torch.autocast and drives a torch GradScaler of its own",
        "on the CPU it takes `bf16-mixed` in place of `16-mixed`",
        "with `bf16-mixed` it enters torch.autocast and has no scaler",
    )


@pytest.mark.slow
def test_accelerate_does_what_the_report_says_of_it():
    """`fp16` brings a GradScaler, `bf16` none; the forward runs in autocast, on a CPU in bf16 only."""
    pytest.importorskip("accelerate")
    assert asked(ACCELERATE) == {
        "entered": [True, False],
        "bf16": None,
        "fp16": TORCHS_OWN,
        "fp16 on cpu": ["fp16", False, None],
    }
    fp16, off, bf16 = framework_of("accelerate.Accelerator").does
    assert off == "on the CPU `fp16` is off without a word: no autocast, no scaler, float32"
    assert "`fp16`" in fp16
    assert "torch GradScaler of its own" in fp16
    assert "`bf16`" in bf16
    assert "no scaler" in bf16


def test_every_delegate_has_a_name():
    """Whatever the static stage calls a delegation is told by its framework, and anything else by no name."""
    assert {callee.partition(".")[0] for callee in DELEGATES} == set(FRAMEWORKS)
    assert framework_of("deepspeed.initialize") is UNNAMED
    assert framework_of("") is UNNAMED


def test_nothing_is_said_of_a_framework_that_nobody_looked_into():
    assert framework_of("transformers.TrainingArguments").does == ()
