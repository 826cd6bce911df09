"""Models of what cannot be installed here: of each, what its source says of the dtypes of a training."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verifygate.model.precision_contract import Aspect
from verifygate.static.machine.libraries import LIBRARIES
from verifygate.static.machine.programs import runs_of
from verifygate.static.readers.contract_cells import cells

sys.path.insert(0, str(Path(__file__).parents[1]))
from run_text import MAIN, program_of

Found = set[tuple[str, str, int]]

APEX = """\
import torch
from apex import amp
from apex.parallel import DistributedDataParallel
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="{level}")
model = DistributedDataParallel(model)
outputs = model(torch.randn(4, 8))
with amp.scale_loss(outputs.sum(), optimizer) as scaled:
    scaled.backward()
torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""
ENGINE = """\
import torch
import transformer_engine.pytorch as te
from transformer_engine.common.recipe import DelayedScaling
layer = te.Linear(8, 8, params_dtype=torch.bfloat16)
block = te.TransformerLayer(8, 8, 2)
optimizer = te.optimizers.FusedAdam([*layer.parameters(), *block.parameters()], lr=1e-4)
with te.fp8_autocast(enabled=True, fp8_recipe=DelayedScaling()):
    first = layer(torch.randn(2, 8, dtype=torch.bfloat16))
with torch.autocast("cuda", dtype=torch.bfloat16):
    second = block(torch.randn(2, 8))
(first + second).sum().backward()
optimizer.step()
"""
XLA = """\
import torch
import torch_xla.core.xla_model as xm
from torch_xla.amp import autocast, syncfree
net = torch.nn.Linear(8, 2).to(xm.xla_device())
optimizer = syncfree.AdamW(net.parameters(), lr=1e-3)
with autocast(xm.xla_device()):
    loss = net(torch.randn(4, 8)).sum()
loss.backward()
xm.optimizer_step(optimizer)
"""


def said(text: str) -> Found:
    """The cells of the contract: aspect, dtypes, line."""
    found = cells(runs_of(program_of(text), [MAIN], LIBRARIES))
    return {(each.aspect.value, " or ".join(sorted(each.dtypes)), each.place.line) for each in found}


def of(aspect: Aspect, found: Found) -> set[tuple[str, int]]:
    return {(dtypes, line) for name, dtypes, line in found if name == aspect.value}


@pytest.mark.parametrize(
    ("level", "weights", "reduced", "saved", "computed"),
    [
        ("O1", {("float32", 4)}, {("float32", 10)}, {("float32", 13)}, {("float16", 6)}),
        (
            "O2",
            {("float32", 6), ("float32", 4)},
            {("float16", 10), ("float32", 10)},
            {("float16 or float32", 13)},
            set(),
        ),
        ("O3", {("float16", 6)}, {("float16", 10)}, {("float16", 13)}, set()),
    ],
)
def test_levels_of_apex(
    level: str,
    weights: set[tuple[str, int]],
    reduced: set[tuple[str, int]],
    saved: set[tuple[str, int]],
    computed: set[tuple[str, int]],
) -> None:
    found = said(APEX.format(level=level))
    assert of(Aspect.WEIGHTS, found) <= weights
    assert {dtypes for dtypes, _ in of(Aspect.WEIGHTS, found)} == {dtypes for dtypes, _ in weights}
    assert (of(Aspect.REDUCTION, found), of(Aspect.CHECKPOINT, found)) == (reduced, saved)
    assert (of(Aspect.COMPUTE, found), of(Aspect.LOSS, found)) == (computed, {("float32", 10)})


def test_layers_of_transformer_engine() -> None:
    """Weights are as asked for, the state of its Adam is float32; eight bits are of the products alone."""
    found = said(ENGINE)
    assert of(Aspect.WEIGHTS, found) == {("bfloat16", 4), ("float32", 5)}
    assert of(Aspect.GRADIENTS, found) == {("bfloat16", 4), ("float32", 5)}
    assert {dtypes for dtypes, _ in of(Aspect.OPTIMIZER_STATE, found)} == {"float32"}
    assert (of(Aspect.COMPUTE, found), of(Aspect.LOSS, found)) == ({("bfloat16", 9)}, {("bfloat16", 11)})


def test_amp_of_torch_xla() -> None:
    """The region is bfloat16, and the step reduces gradients in their own dtype."""
    found = said(XLA)
    assert (of(Aspect.COMPUTE, found), of(Aspect.REDUCTION, found)) == ({("bfloat16", 6)}, {("float32", 9)})
