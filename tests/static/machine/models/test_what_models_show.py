"""What is known of a training because of a model: cells of the contract, and the faults that follow from them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verifygate.model.precision_contract import Aspect
from verifygate.static.machine.call import Library
from verifygate.static.machine.libraries import LIBRARIES
from verifygate.static.machine.programs import Run, runs_of
from verifygate.static.machine.torch_library.library import TORCH
from verifygate.static.readers import low_precision_weights
from verifygate.static.readers.contract_cells import cells

sys.path.insert(0, str(Path(__file__).parents[1]))
from run_text import MAIN, program_of

ADAPTED = """\
import bitsandbytes as bnb
import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig
quantized = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
model = AutoModelForCausalLM.from_pretrained("name", quantization_config=quantized, torch_dtype=torch.bfloat16)
model = prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"]))
optimizer = bnb.optim.PagedAdamW8bit([each for each in model.parameters() if each.requires_grad], lr=2e-4)
for batch in torch.load("data"):
    model(input_ids=batch, labels=torch.ones(1)).loss.backward()
    optimizer.step()
"""
SAVED_WHOLE = """\
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("name", torch_dtype=torch.bfloat16)
model = get_peft_model(model, LoraConfig(target_modules="all-linear"{more}))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
model(input_ids=torch.ones(1), labels=torch.ones(1)).loss.backward()
optimizer.step()
"""
HOOKED = """\
import torch
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
from torch.nn.parallel import DistributedDataParallel as DDP
model = DDP(torch.nn.Linear(8, 2))
{hook}
with model.no_sync():
    model(torch.randn(4, 8)).sum().backward()
model(torch.randn(4, 8)).sum().backward()
"""
SHARDED = """\
import deepspeed, torch
model = torch.nn.Linear(8, 2)
config = {{"bf16": {{"enabled": {on}}}, "zero_optimization": {{"stage": 2}}, "optimizer": {{"type": "AdamW"}}}}
engine, *_ = deepspeed.initialize(model=model, config=config)
engine.backward(engine(torch.randn(4, 8)).float().sum())
engine.step()
engine.save_16bit_model("out")
"""
GIVEN_BY_NAME = """\
from trl import SFTConfig, SFTTrainer
args = SFTConfig("out", learning_rate=1e-5, model_init_kwargs={options})
SFTTrainer("name", args=args, train_dataset=data()).train()
"""
AFTER_EACH = """\
import torch
net = torch.nn.Linear(8, 2)
optimizers = {each: torch.optim.SGD([each], lr=0.1) for each in net.parameters()}
for each in net.parameters():
    each.register_post_accumulate_grad_hook(lambda parameter: optimizers[parameter].step())
net(torch.randn(4, 8)).sum().backward()
"""


def runs(text: str, libraries: tuple[Library, ...] = LIBRARIES) -> list[Run]:
    return list(runs_of(program_of(text), [MAIN], libraries))


def said(aspect: Aspect, found: list[Run]) -> set[tuple[str, int]]:
    return {(" or ".join(sorted(each.dtypes)), each.place.line) for each in cells(found) if each.aspect is aspect}


def faults(found: list[Run]) -> list[tuple[int, bool]]:
    return [(each.place.line, each.certain) for each in low_precision_weights.violations(found)]


def test_quantized_model_with_adapters() -> None:
    """The adapters alone are trained, in float32, with a state of eight bits; without the models nothing is known."""
    found = runs(ADAPTED)
    assert said(Aspect.WEIGHTS, found) == {("float32", 8)}
    assert said(Aspect.OPTIMIZER_STATE, found) == {("uint8", 8)}
    assert said(Aspect.LOSS, found) == {("float32", 11)}
    assert not said(Aspect.WEIGHTS, runs(ADAPTED, (TORCH,)))


def test_module_that_peft_saves_whole_is_trained_as_it_was_loaded() -> None:
    """Adapters become float32, a copied module stays bfloat16: it is what small steps are lost on."""
    assert faults(runs(SAVED_WHOLE.format(more=""))) == []
    found = runs(SAVED_WHOLE.format(more=', modules_to_save=["lm_head"]'))
    assert said(Aspect.WEIGHTS, found) == {("float32", 5), ("bfloat16", 4)}
    assert faults(found) == [(6, True)]


@pytest.mark.parametrize(
    ("hook", "dtype"), [("", "float32"), ("model.register_comm_hook(None, bf16_compress_hook)", "bfloat16")]
)
def test_backward_reduces_in_what_the_hook_says(hook: str, dtype: str) -> None:
    """Not in a block of `no_sync`."""
    assert said(Aspect.REDUCTION, runs(HOOKED.format(hook=hook))) == {(dtype, 8)}


def test_engine_steps_copies() -> None:
    found = runs(SHARDED.format(on=True))
    assert said(Aspect.WEIGHTS, found) == {("float32", 4)}
    assert said(Aspect.GRADIENTS, found) == set(), "they are of the weights that the copies are of"
    assert (said(Aspect.REDUCTION, found), said(Aspect.CHECKPOINT, found)) == ({("bfloat16", 5)}, {("bfloat16", 7)})
    assert faults(found) == []
    assert said(Aspect.CHECKPOINT, runs(SHARDED.format(on=False))) == {("float32", 7)}


def test_engine_of_a_file_is_not_known() -> None:
    text = SHARDED.format(on=True).replace("config=config", 'config="config.json"')
    assert not any(each.dtypes for each in cells(runs(text)))


def test_what_a_trainer_loads_by_name() -> None:
    """Float32 by default; half weights if it is told so, which the fault is about."""
    assert said(Aspect.WEIGHTS, runs(GIVEN_BY_NAME.format(options=None))) == {("float32", 3)}
    found = runs(GIVEN_BY_NAME.format(options='{"dtype": "bfloat16"}'))
    assert said(Aspect.WEIGHTS, found) == {("bfloat16", 3)}
    assert faults(found) == [(3, False)], "a launcher may bring DeepSpeed, whose optimizer steps copies"


def test_hooks_on_gradients_run_in_the_backward() -> None:
    """An optimizer that each parameter has of its own steps at the line of the backward."""
    found = runs(AFTER_EACH)
    assert {each.event.line for run in found for each in run.events if each.event.kind.value == "optimizer.step"} == {5}
    assert said(Aspect.WEIGHTS, found) == {("float32", 2)}
