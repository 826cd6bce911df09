"""Frameworks under emulated CUDA: they import, train, and what the recorder sees in them is judged as it is meant."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verifygate.cli import main

pytest.importorskip("torch")
pytestmark = pytest.mark.slow

Probe = Callable[[str], dict[str, Any]]
DATA = """
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
rows = torch.utils.data.TensorDataset(torch.randn(24, 6), torch.randn(24, 2))
loader = torch.utils.data.DataLoader(rows, batch_size=4)
net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
"""
QUIET = "accelerator='auto', devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False"
LIGHTNING = """
import lightning.pytorch as pl

class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = net
        self.automatic_optimization = AUTOMATIC

    def training_step(self, batch, number):
        loss = F.mse_loss(self.net(batch[0]), batch[1])
        if self.automatic_optimization:
            return loss
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)

if __name__ == "__main__":
    pl.Trainer(max_epochs=1, precision="PRECISION", QUIET).fit(Module(), loader)
""".replace("QUIET", QUIET)
FABRIC = """
from lightning.fabric import Fabric

fabric = Fabric(accelerator="auto", devices=1, precision="16-mixed")
net, optimizer = fabric.setup(net, torch.optim.AdamW(net.parameters(), lr=1e-3))
for number, (x, y) in enumerate(fabric.setup_dataloaders(loader)):
    fabric.backward(F.mse_loss(net(x), y))
    if EVERY or number % 2:
        fabric.clip_gradients(net, optimizer, max_norm=1.0)
    if number % 2:
        optimizer.step()
        optimizer.zero_grad()
"""
ACCELERATE = """
from accelerate import Accelerator

accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=1)
net, optimizer, loader = accelerator.prepare(net, torch.optim.AdamW(net.parameters(), lr=1e-3), loader)
for x, y in loader:
    optimizer.zero_grad()
    accelerator.backward(F.mse_loss(net(x).float(), y))
    accelerator.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    AFTER
"""
TRANSFORMERS = """
from transformers import Trainer, TrainingArguments

class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net

    def forward(self, x, labels=None):
        outputs = self.net(x)
        return {"loss": F.mse_loss(outputs.float(), labels), "logits": outputs}

def collate(items):
    return {"x": torch.stack([x for x, _ in items]), "labels": torch.stack([y for _, y in items])}

arguments = TrainingArguments("out", fp16=True, max_steps=4, per_device_train_batch_size=4, report_to=[],
                              save_strategy="no", disable_tqdm=True, max_grad_norm=1.0)
Trainer(Regression(), arguments, train_dataset=rows, data_collator=collate).train()
"""
LOOP = """
device = "cuda" if torch.cuda.is_available() else "cpu"
net = net.to(device)
optimizer = torch.optim.AdamW([each for each in net.parameters() if each.requires_grad], lr=1e-3)
scaler = torch.amp.GradScaler(device)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast(device, dtype=torch.float16):
        loss = F.mse_loss(net(x.to(device)), y.to(device))
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
PEFT = """
from peft import LoraConfig, get_peft_model

net = get_peft_model(net, LoraConfig(target_modules=["0", "2"], r=2))
"""
BEGIN = """
import os
import torch.distributed as dist

os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "NUMBER"}
dist.init_process_group("nccl", rank=0, world_size=1)
"""
FSDP1 = """
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

half = torch.float16
policy = MixedPrecision(param_dtype=half, reduce_dtype=half, buffer_dtype=half)
net = FullyShardedDataParallel(net.cuda(), mixed_precision=policy, device_id=torch.cuda.current_device())
"""
FSDP2 = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

net = fully_shard(net.cuda(), mp_policy=MixedPrecisionPolicy(param_dtype=torch.float16, reduce_dtype=torch.float32))
"""
SHARDED = """
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
scaler = SCALER
for x, y in loader:
    optimizer.zero_grad()
    loss = F.mse_loss(net(x.cuda()).float(), y.cuda())
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
dist.destroy_process_group()
"""
DDP = """
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

net = nn.parallel.DistributedDataParallel(net.cuda())
net.register_comm_hook(None, bf16_compress_hook)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = F.mse_loss(net(x.cuda()), y.cuda())
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
"""


@pytest.fixture
def probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Probe:
    """A function that probes a script text with CUDA emulated, and returns the report."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}.items():
        monkeypatch.setenv(name, value)

    def run(text: str) -> dict[str, Any]:
        Path("train.py").write_text(f"{DATA}{text}")
        main(["probe", "--emulate-cuda", "--format", "json", "--", sys.executable, "train.py"])
        report: dict[str, Any] = json.loads(capsys.readouterr().out)
        return report

    return run


def lightning(automatic: bool, precision: str) -> str:
    return LIGHTNING.replace("AUTOMATIC", str(automatic)).replace("PRECISION", precision)


RIGHT = {
    "lightning, automatic": ("lightning", lightning(True, "16-mixed")),
    "lightning, manual": ("lightning", lightning(False, "16-mixed")),
    "fabric": ("lightning", FABRIC.replace("EVERY", "False")),
    "accelerate": ("accelerate", ACCELERATE.replace("AFTER", "")),
    "transformers": ("transformers", TRANSFORMERS),
    "peft": ("peft", f"{PEFT}{LOOP}"),
    "bitsandbytes": ("bitsandbytes", f"import bitsandbytes as bnb\n{LOOP}"),
    "fsdp1": ("torch", f"{BEGIN.replace('NUMBER', '29741')}{FSDP1}{SHARDED.replace('SCALER', 'ShardedGradScaler()')}"),
    "fsdp2": (
        "torch",
        f"{BEGIN.replace('NUMBER', '29742')}{FSDP2}{SHARDED.replace('SCALER', 'torch.amp.GradScaler()')}",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_trains_with_a_live_scaler_and_is_clean(probe: Probe, name: str):
    package, text = RIGHT[name]
    pytest.importorskip(package)
    report = probe(text)
    assert (report["outcome"], report["findings"]) == ("clean", []), report["reason"]
    counts = dict(report["trace"]["counts"])
    assert counts["scale"] >= counts["update"] == counts["scaler.step"] > 2
    assert report["trace"]["low_precision"]["low_operations"] > 0


def test_a_compression_hook_asks_for_the_version_of_nccl(probe: Probe):
    assert probe(f"{BEGIN.replace('NUMBER', '29743')}{DDP}")["outcome"] == "clean"


def test_the_closure_of_lightning_is_seen(probe: Probe):
    """Without a scaler it trains inside `optimizer.step(closure)`: each step has its backward before it."""
    pytest.importorskip("lightning")
    report = probe(lightning(True, "bf16-mixed"))
    counts = dict(report["trace"]["counts"])
    assert counts["backward"] == counts["optimizer.step"] == report["trace"]["steps"] > 2


UNWRAP = "torch.save(accelerator.unwrap_model(net, keep_fp32_wrapper=False).state_dict(), 'last.pt')"
REFUSED = FABRIC.replace("EVERY", "False").replace(
    "fabric.backward(F.mse_loss(net(x), y))", "F.mse_loss(net(x), y).backward()"
)
CALLBACK = """
from transformers import TrainerCallback

class Clip(TrainerCallback):
    def on_step_end(self, args, state, control, model=None, **kwargs):
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
"""
FAULTY = {
    "backward that Fabric refuses": ("lightning", REFUSED, ("AMP206", ".backward()")),
    "clip when nothing is left": (
        "transformers",
        CALLBACK + TRANSFORMERS.replace("data_collator", "callbacks=[Clip()], data_collator"),
        ("AMP211", "clip_grad_norm_"),
    ),
    "clip of each micro-batch": ("lightning", FABRIC.replace("EVERY", "True"), ("AMP203", "clip_gradients")),
    "autocast is taken off": ("accelerate", ACCELERATE.replace("AFTER", UNWRAP), ("AMP303", "optimizer.step()")),
    "bfloat16 weights": (
        "torch",
        f"net = net.bfloat16()\n{LOOP}".replace("net(x.", "net(x.bfloat16()."),
        ("AMP401", "scaler.step"),
    ),
}


@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_is_found_at_the_line_of_the_project(probe: Probe, name: str):
    package, text, (rule, part) = FAULTY[name]
    pytest.importorskip(package)
    lines = f"{DATA}{text}".splitlines()
    found = {(each["rule"], part in lines[each["line"] - 1]) for each in probe(text)["findings"]}
    assert (rule, True) in found
