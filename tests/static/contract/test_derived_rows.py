"""What the contract derives: from the weights, from the absence of a scaler, from what frameworks keep."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.config.settings import StaticSettings
from verifygate.model.precision_contract import DERIVED, Aspect, Declaration, PrecisionContract
from verifygate.report.contract import ContractInWords
from verifygate.sources.discovery import read_sources
from verifygate.static.engine import analyse

LOOP = """import torch
from torch.nn.parallel import DistributedDataParallel

def main(rows, Net):
    model = Net(){cast}
    wrapped = DistributedDataParallel(model)
    adam = torch.optim.AdamW(model.parameters())
    for row in rows:
        wrapped(row).mean().backward()
        {extra}
        adam.step()
"""
FOLLOWING = (Aspect.GRADIENTS, Aspect.ACCUMULATION, Aspect.REDUCTION, Aspect.OPTIMIZER_STATE)


def contract_of(folder: Path, text: str) -> PrecisionContract:
    (folder / "train.py").write_text(text, encoding="utf-8")
    return analyse(read_sources(folder, ["."]), StaticSettings()).contract


def told(contract: PrecisionContract, aspect: Aspect) -> list[Declaration]:
    row = contract.row(aspect)
    return list(row.declared) if row is not None else []


def loop(cast: str = "", extra: str = "pass") -> str:
    return LOOP.format(cast=cast, extra=extra)


@pytest.mark.parametrize(
    ("cast", "dtype"), [("", "float32"), (".bfloat16()", "bfloat16"), (".to(device, dtype=kind)", "as the weights")]
)
def test_what_follows_from_the_weights_is_derived(tmp_path: Path, cast: str, dtype: str) -> None:
    contract = contract_of(tmp_path, loop(cast))
    for aspect in FOLLOWING:
        by = "code" if dtype == "bfloat16" and aspect is Aspect.GRADIENTS else DERIVED
        assert [(each.value, each.said_by) for each in told(contract, aspect)] == [(dtype, by)], aspect
    assert [each.condition for each in told(contract, Aspect.OPTIMIZER_STATE)] == ["of AdamW"]


def test_weights_are_of_torchs_default_dtype_where_nothing_may_cast(tmp_path: Path) -> None:
    (found,) = told(contract_of(tmp_path, loop()), Aspect.WEIGHTS)
    assert (found.value, found.said_by, found.line) == ("float32, torch's default", DERIVED, 7)


@pytest.mark.parametrize(
    "line",
    ["x = load.from_pretrained(row)", "model.to(device, dtype=kind)", "model.to(getattr(torch, kind))", "part.half()"],
)
def test_the_line_that_may_cast_is_not_followed(tmp_path: Path, line: str) -> None:
    contract = contract_of(tmp_path, loop(extra=line))
    assert told(contract, Aspect.WEIGHTS) == []
    row = contract.row(Aspect.WEIGHTS)
    assert row is not None
    assert [each.line for each in row.not_followed] == [10]


@pytest.mark.parametrize("line", ["model.weight.grad = buffer.float()", "model.register_comm_hook(None, hook)"])
def test_gradients_that_the_program_handles_itself_tell_neither_reduction_nor_accumulation(
    tmp_path: Path, line: str
) -> None:
    contract = contract_of(tmp_path, loop(extra=line))
    assert told(contract, Aspect.REDUCTION) == []
    assert told(contract, Aspect.ACCUMULATION) == []
    assert [each.value for each in told(contract, Aspect.GRADIENTS)] == ["float32"]


def test_the_state_of_a_program_with_a_master_copy_is_not_derived(tmp_path: Path) -> None:
    contract = contract_of(tmp_path, loop(".half()", "master_params[0].copy_(row)"))
    assert told(contract, Aspect.OPTIMIZER_STATE) == []


@pytest.mark.parametrize(("extra", "values"), [("pass", ["none"]), ("scaler = made_elsewhere(scaler)", [])])
def test_no_scale_where_the_program_speaks_of_no_scaler(tmp_path: Path, extra: str, values: list[str]) -> None:
    assert [each.value for each in told(contract_of(tmp_path, loop(extra=extra)), Aspect.LOSS_SCALE)] == values


LOOKED_AT = "with torch.autocast('cuda', dtype=torch.bfloat16): row = wrapped(row)\n        "
"""What makes the rules look at the file: the dicts of others are not read."""
BOTH = "model, optimizer, no scaler's state"
OWN = "torch.save({'model': model.state_dict(), 'optimizer': adam.state_dict()}, 'x')"


@pytest.mark.parametrize(
    ("extra", "values"),
    [
        (OWN, [BOTH]),
        ("torch.save(dict(net=model.state_dict(), optimizer=adam.state_dict()), 'x')", [BOTH]),
        ("torch.save({'optimizer': adam.state_dict(), **others.state_dict()}, 'x')", []),
        ("torch.save(model.state_dict(), 'x')", []),
    ],
)  # fmt: skip
def test_the_parts_of_a_dict_that_is_saved(tmp_path: Path, extra: str, values: list[str]) -> None:
    text = loop(extra=LOOKED_AT + extra)
    assert [each.value for each in told(contract_of(tmp_path, text), Aspect.CHECKPOINT)] == values


@pytest.mark.parametrize(("change", "holds"), [("kept['step'] = 3", True), ("kept[name] = other.state_dict()", False)])
def test_a_dict_that_is_added_to_under_unknown_keys_is_not_followed(tmp_path: Path, change: str, holds: bool) -> None:
    extra = f"kept = {{'optimizer': adam.state_dict()}}; {change}; torch.save(kept, 'x')"
    text = loop(extra=LOOKED_AT + extra)
    assert bool(told(contract_of(tmp_path, text), Aspect.CHECKPOINT)) is holds


@pytest.mark.parametrize(("given", "holds"), [("", True), (", enable_checkpointing=False", False)])
def test_a_framework_holds_its_checkpoint(tmp_path: Path, given: str, holds: bool) -> None:
    contract = contract_of(tmp_path, f"import lightning as L\nL.Trainer(precision='16-mixed'{given})\n")
    values = [each.value for each in told(contract, Aspect.CHECKPOINT)]
    assert values == (["Lightning's: model, optimizer, scaler's state if it scales"] if holds else [])


def test_rows_that_are_derived_alike_share_a_line(tmp_path: Path) -> None:
    lines = list(ContractInWords(contract_of(tmp_path, loop())).text_lines())
    derived = [text for label, text in lines if label == "derived"]
    assert len(derived) == 1
    assert derived[0].startswith("gradients, reduction, accumulation, optimizer state: float32 (train.py:")


@pytest.mark.parametrize(("strategy", "who"), [("'ddp'", "Lightning's"), ("DeepSpeedStrategy()", "DeepSpeed's")])
def test_deepspeed_under_lightning_scales_itself(tmp_path: Path, strategy: str, who: str) -> None:
    text = f"import lightning as L\nL.Trainer(precision='16-mixed', strategy={strategy})\n"
    (found,) = told(contract_of(tmp_path, text), Aspect.LOSS_SCALE)
    assert found.value.startswith(who)


def test_default_weights_under_accelerate_say_what_a_launcher_may_change(tmp_path: Path) -> None:
    text = """from accelerate import Accelerator
import torch

def main(rows, Net):
    accelerator = Accelerator(mixed_precision="bf16")
    model = Net()
    adam = torch.optim.AdamW(model.parameters())
    for row in rows:
        accelerator.backward(model(row).mean())
        adam.step()
"""
    (found,) = told(contract_of(tmp_path, text), Aspect.WEIGHTS)
    assert (found.value, found.condition) == ("float32, torch's default", "unless launched with DeepSpeed")
