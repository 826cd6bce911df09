"""Projects whose precision a framework or a sharding policy holds: the verdict of the whole gate is the true one.

A right one may pass only for float16 that was seen at work; a wrong one may not pass.
"""

from __future__ import annotations

import json
import subprocess
import sysconfig
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.slow
for framework in ("lightning", "accelerate", "transformers"):
    pytest.importorskip(framework)

LIGHTNING = """
import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader, TensorDataset


class Regression(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
        self.automatic_optimization = AUTOMATIC

    def training_step(self, batch, index):
        inputs, targets = batch
        loss = torch.nn.functional.mse_loss(self.layer(inputs), targets)
        BODY

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def train():
    pl.seed_everything(0)
    data = DataLoader(TensorDataset(torch.randn(32, 8), torch.randn(32, 1)), batch_size=4)
    trainer = pl.Trainer(
        max_epochs=1, devices=1, precision="16-mixed", accumulate_grad_batches=EVERY, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Regression(), data)


if __name__ == "__main__":
    train()
"""
MANUAL = """optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.optimizer.step()"""


def lightning(body: str, *, automatic: bool = True, every: int = 1) -> str:
    return LIGHTNING.replace("BODY", body).replace("AUTOMATIC", str(automatic)).replace("EVERY", str(every))


ACCELERATE = """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


def train():
    torch.manual_seed(0)
    accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=EVERY)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(TensorDataset(torch.randn(32, 8), torch.randn(32, 1)), batch_size=4)
    PREPARE
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)LESS
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    train()
"""
PREPARED = "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)"


def accelerate(*, prepare: str = PREPARED, less: str = "", every: int = 1) -> str:
    return ACCELERATE.replace("PREPARE", prepare).replace("LESS", less).replace("EVERY", str(every))


HUGGING_FACE = """
import tempfile

import torch
from transformers import Trainer, TrainingArguments


class Regression(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def forward(self, inputs, labels):
        outputs = self.layer(inputs)
        return {"loss": torch.nn.functional.mse_loss(outputs, labels), "logits": outputs}


class OwnTrainer(Trainer):
    STEP


def train():
    torch.manual_seed(0)
    rows = [{"inputs": torch.randn(8), "labels": torch.randn(1)} for _ in range(32)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, fp16=torch.cuda.is_available(), max_steps=4, per_device_train_batch_size=4, report_to=[],
            save_strategy="no", disable_tqdm=True,
        )
        OwnTrainer(model=Regression(), args=arguments, train_dataset=rows).train()


if __name__ == "__main__":
    train()
"""
OWN_STEP = """def training_step(self, model, inputs, num_items_in_batch=None):
        model.train()
        loss = self.compute_loss(model, self._prepare_inputs(inputs))
        loss.backward()
        return loss.detach()"""

FSDP2 = """
import os
import socket

import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def train():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=0, world_size=1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 1))MODEL
    fully_shard(model, mesh=init_device_mesh("cpu", (1,)), mp_policy=MixedPrecisionPolicy(POLICY))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(torch.randn(4, 8)).float().square().mean()
        loss.backward()
        optimizer.step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    train()
"""


def fsdp2(model: str, policy: str) -> str:
    return FSDP2.replace("MODEL", model).replace("POLICY", policy)


FSDP1 = """
import socket

import torch
from torch import distributed
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler


def train():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=0, world_size=1)
    torch.manual_seed(0)
    half = torch.float16
    policy = MixedPrecision(param_dtype=half, reduce_dtype=half, buffer_dtype=half)
    model = FullyShardedDataParallel(torch.nn.Linear(8, 1).cuda(), mixed_precision=policy, device_id=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = ShardedGradScaler()
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(torch.randn(4, 8, device="cuda")).float().square().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        model.clip_grad_norm_(1.0)
        scaler.step(optimizer)
        scaler.update()
    distributed.destroy_process_group()


if __name__ == "__main__":
    train()
"""

TEST = """
import pytest
import torch
from train import train


def test_can_be_imported():
    assert callable(train)


MARKS

@pytest.mark.skipif(NEEDS and not torch.cuda.is_available(), reason="needs CUDA")
def test_trains():
    train()
"""


class Project(NamedTuple):
    """A program, how its test is, and what the gate is told beside it."""

    program: str
    needs_cuda: bool = False
    catalogue: str = ""
    entry: bool = False
    """Whether the oracles are asked, with CUDA emulated."""


def audit(root: Path, project: Project) -> dict[str, Any]:
    """The gate's report on a project."""
    marks = [f'@pytest.mark.requirement("AMP-0{number}")' for number in (1, 2, 3)] if project.catalogue else []
    (root / "train.py").write_text(project.program)
    (root / "test_train.py").write_text(
        TEST.replace("NEEDS", str(project.needs_cuda)).replace("MARKS\n\n", "".join(f"{mark}\n" for mark in marks))
    )
    (root / "pytest.ini").write_text("[pytest]\nmarkers = requirement(id)\n")
    settings = '[project]\nname = "subject"\n'
    if project.catalogue:
        settings += '[requirements]\nspec = "requirements.yaml"\n'
        text = f"title: Mixed precision\nextends: {project.catalogue}\nselect: [AMP-01, AMP-02, AMP-03]\n"
        (root / "requirements.yaml").write_text(text)
    if project.entry:
        settings += '[execution.oracles]\nemulated_entries = ["python train.py"]\n'
    (root / "verifygate.toml").write_text(settings)
    ended = subprocess.run(
        [Path(sysconfig.get_path("scripts"), "verifygate"), "run", "--stage", "all", "--report-dir", root / "reports"],
        cwd=root, capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ended.returncode in (0, 1), ended.stdout + ended.stderr
    return dict(json.loads((root / "reports" / "report.json").read_text()))


def checks(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {check["id"]: check for stage in report["stages"] for check in stage["checks"]}


NOT_PREPARED = accelerate(prepare="model, loader = accelerator.prepare(model, loader)")
RIGHT = {
    "lightning": Project(lightning("return loss")),
    "accelerate": Project(accelerate(), needs_cuda=True),
    "hugging face": Project(HUGGING_FACE.replace("STEP", "pass"), needs_cuda=True),
    "sharded, with a sharded scaler": Project(FSDP1, needs_cuda=True),
}
WRONG = {
    "lightning, raw step": (Project(lightning(MANUAL, automatic=False)), "AMP207"),
    "lightning, divided twice": (Project(lightning("return loss / 4", every=4)), "AMP606"),
    "sharded, bfloat16 weights": (Project(fsdp2(".to(torch.bfloat16)", "param_dtype=torch.bfloat16")), "AMP802"),
    "accelerate, optimizer not prepared": (Project(NOT_PREPARED, needs_cuda=True), "AMP207"),
    "accelerate, divided twice": (Project(accelerate(less=" / 4", every=4), needs_cuda=True), "AMP606"),
}
ASKED = {
    "lightning, raw step": Project(lightning(MANUAL, automatic=False), entry=True),
    "accelerate, optimizer not prepared": Project(NOT_PREPARED, entry=True),
    "hugging face, own backward": Project(HUGGING_FACE.replace("STEP", OWN_STEP), entry=True),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_project_passes_for_float16_at_work(name: str, tmp_path: Path) -> None:
    report = audit(tmp_path, RIGHT[name])

    assert [each["text"] for each in report["reasons"]] == []
    assert report["verdict"] == "PASS"
    trace = checks(report)["execution.trace"]
    assert trace["status"] == "PASS"
    assert "with CUDA emulated" in trace["actual"]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_project_is_blocked_for_its_fault(name: str, tmp_path: Path) -> None:
    project, rule = WRONG[name]
    report = audit(tmp_path, project)

    assert report["verdict"] == "BLOCK"
    assert any(rule in each["text"] for each in report["reasons"]), report["reasons"]


def test_sharding_in_float16_without_a_scaler_is_not_passed(tmp_path: Path) -> None:
    """Nothing in it says autocast or scaler, and its test passes."""
    report = audit(tmp_path, Project(fsdp2("", "param_dtype=torch.float16")))

    assert report["verdict"] == "BLOCK"
    trace = checks(report)["execution.trace"]
    assert (trace["status"], trace["required"]) == ("NOT MEASURED", True)
    assert "float16 is asked for at train.py:" in trace["actual"]


@pytest.mark.parametrize("name", ASKED)
def test_the_weights_of_a_wrong_project_depend_on_the_scale(name: str, tmp_path: Path) -> None:
    report = audit(tmp_path, ASKED[name])

    assert report["verdict"] == "BLOCK"
    assert checks(report)["execution.oracle-scale-invariance"]["status"] == "FAIL"


def test_amp_core_asks_for_code_of_its_own(tmp_path: Path) -> None:
    """The catalogue wants the steps written out, which a delegated project has not; what it does is shown beside it."""
    report = audit(tmp_path, Project(lightning("return loss"), catalogue="amp-core", entry=True))

    found = checks(report)
    assert report["verdict"] == "BLOCK"
    assert all("specification mismatch" in each["text"] for each in report["reasons"]), report["reasons"]
    assert found["execution.oracle-scale-invariance"]["status"] == "PASS"
    assert found["execution.trace"]["status"] == "PASS"
