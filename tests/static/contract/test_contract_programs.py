"""Which program a line of the contract is part of: what only runs a model, or tests itself, is no training."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from verifygate.config.settings import StaticSettings
from verifygate.model.precision_contract import Aspect, PrecisionContract
from verifygate.sources.discovery import read_sources
from verifygate.static.engine import analyse

TRAINS = """import torch
from net import Net

def main(rows):
    model = Net()
    adam = torch.optim.Adam(model.parameters())
    for row in rows:
        model(row).mean().backward()
        adam.step()

if __name__ == "__main__":
    main([])
"""
NET = "import torch\n\nclass Net(torch.nn.Linear):\n    pass\n"


def contract_of(folder: Path, **files: str) -> PrecisionContract:
    for name, text in files.items():
        (folder / name.replace("_dot_", ".")).write_text(text, encoding="utf-8")
    return analyse(read_sources(folder, ["."]), StaticSettings()).contract


def told(contract: PrecisionContract, aspect: Aspect) -> list[tuple[str, str]]:
    row = contract.row(aspect)
    return [(each.value, each.condition) for each in row.declared] if row else []


def test_a_program_that_generates_is_an_evaluation(tmp_path: Path) -> None:
    chat = """import torch
from net import Net

def main(prompt):
    model = Net()
    model.eval()
    with torch.autocast("cuda", dtype=torch.float16):
        print(model.generate(prompt))

main("x")
"""
    contract = contract_of(tmp_path, train_dot_py=TRAINS, net_dot_py=NET, chat_dot_py=chat)
    assert told(contract, Aspect.COMPUTE) == []
    assert told(contract, Aspect.EVALUATION) == [("float16", "")]
    assert [value for value, _ in told(contract, Aspect.DRIVER)] == ["nobody: torch trains in the dtype of the weights"]


@pytest.mark.parametrize("loss", ["", "        return self.compute_loss(x)\n\n    def compute_loss(self, x):\n"])
def test_a_command_that_starts_an_evaluation_tells_nothing_of_the_training(tmp_path: Path, loss: str) -> None:
    encode = """from transformers import HfArgumentParser, TrainingArguments
from net import Net

def main():
    args = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    model = Net()
    model.eval()
    print(model(args))

main()
"""
    net = f"import torch\n\nclass Net(torch.nn.Linear):\n    def forward(self, x):\n{loss}        return x\n"
    started = "python -m encode --per_device_eval_batch_size 8 --fp16\n"
    contract = contract_of(tmp_path, train_dot_py=TRAINS, net_dot_py=net, encode_dot_py=encode, run_dot_sh=started)
    assert [value for value, _ in told(contract, Aspect.DRIVER)] == ["nobody: torch trains in the dtype of the weights"]
    assert told(contract, Aspect.LOSS_SCALE) == [("none", "")]
    assert told(contract, Aspect.COMPUTE) == []
    assert told(contract, Aspect.EVALUATION) == [("float16", "")]


SELF_TEST = """
if __name__ == "__main__":
    scaler = torch.cuda.amp.GradScaler()
    net = Net()
    with torch.autocast("cuda", dtype=torch.float16):
        error = net(torch.ones(2))
    scaler.scale(error.mean()).backward()
"""


@pytest.mark.parametrize("imports", [True, False])
def test_the_self_test_of_an_imported_module_is_no_training(tmp_path: Path, imports: bool) -> None:
    text = TRAINS if imports else TRAINS.replace("from net import Net", "Net = torch.nn.Linear")
    contract = contract_of(tmp_path, train_dot_py=text, net_dot_py=NET + SELF_TEST)
    drivers = {value for value, _ in told(contract, Aspect.DRIVER)}
    assert ("own code: GradScaler" in drivers) is not imports
    assert bool(told(contract, Aspect.COMPUTE)) is not imports


@pytest.mark.parametrize(
    "code",
    [
        "class F(torch.autograd.Function):\n    def backward(ctx, grad):\n        return ops.backward(grad)\n",
        "class T(Engine):\n    def run(self, loss):\n        self.backward(loss)\n",
    ],
)
def test_the_backward_of_an_operation_or_of_a_class_of_a_framework_is_no_loop(tmp_path: Path, code: str) -> None:
    assert contract_of(tmp_path, model_dot_py=f"import torch\n\n{code}").rows == ()


def test_the_arm_of_a_conditional_expression_is_a_condition(tmp_path: Path) -> None:
    text = """import torch

def main(rows, args, model):
    model = model.to(dtype=torch.bfloat16 if args.bf16 else None)
    adam = torch.optim.Adam(model.parameters())
    for row in rows:
        model(row).mean().backward()
        adam.step()
"""
    contract = contract_of(tmp_path, train_dot_py=text)
    assert told(contract, Aspect.WEIGHTS) == [("bfloat16", "where `args.bf16`")]


WINDOW = """import torch

def main(rows, Net):
    torch.set_default_dtype(torch.bfloat16)
    model = Net(){cast}
    torch.set_default_dtype(torch.float32)
    adam = torch.optim.Adam(model.parameters())
    for row in rows:
        model(row).mean().backward()
        adam.step()
"""


def test_a_default_dtype_that_is_put_back_decides_nothing(tmp_path: Path) -> None:
    assert told(contract_of(tmp_path, train_dot_py=WINDOW.format(cast="")), Aspect.WEIGHTS) == [("bfloat16", "")]


def test_a_cast_inside_the_window_decides(tmp_path: Path) -> None:
    contract = contract_of(tmp_path, train_dot_py=WINDOW.format(cast=".half()"))
    assert told(contract, Aspect.WEIGHTS) == [("float16", "")]


def test_what_is_float32_in_one_layer_is_said_with_the_layer(tmp_path: Path) -> None:
    layer = """import torch

class Norm(torch.nn.Module):
    def forward(self, x):
        with torch.autocast("cuda", dtype=torch.float32):
            return x * 2

class Net(torch.nn.Linear):
    norm = Norm()
"""
    assert told(contract_of(tmp_path, train_dot_py=TRAINS, net_dot_py=layer), Aspect.COMPUTE) == [
        ("float32", "in `Norm`")
    ]


TRAINER = """import torch

class Base:
    dtype = torch.bfloat16

    def __init__(self, model):
        self.model = model.cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.dtype == torch.float16)

    def step(self, x):
        with torch.autocast("cuda", dtype=self.dtype):
            loss = self.model(x).float().mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()

class Half(Base):
    dtype = torch.float16

"""


@pytest.mark.parametrize(
    ("made", "computes"),
    [
        ("Half", [("float16", "")]),
        ("(Half if wide else Base)", [("bfloat16", "on one path"), ("float16", "on one path")]),
    ],
)
def test_a_class_that_is_instantiated_says_the_dtype_and_not_its_base(
    made: str, computes: list[tuple[str, str]], tmp_path: Path
) -> None:
    main = f"from trainers import Base, Half\nfrom net import Net\n\ntrainer = {made}(Net(4, 4))\ntrainer.step(rows)\n"
    contract = contract_of(tmp_path, trainers_dot_py=TRAINER, main_dot_py=main, net_dot_py=NET)
    assert told(contract, Aspect.COMPUTE) == computes
    assert told(contract, Aspect.LOSS_SCALE) == [("GradScaler", "where `self.dtype == torch.float16`")]


def test_where_only_the_base_is_instantiated_both_dtypes_are_possible(tmp_path: Path) -> None:
    """The class below may be made by whoever imports it: that it is not used here does not say that it never is."""
    contract = contract_of(tmp_path, train_dot_py=f"{TRAINER}Base(torch.nn.Linear(4, 4)).step(rows)\n")
    assert told(contract, Aspect.COMPUTE) == [("bfloat16", "on one path"), ("float16", "on one path")]


def test_a_method_that_the_class_below_overrides_says_the_dtype(tmp_path: Path) -> None:
    by_method = re.sub(r"dtype = (torch\.\w+)", r"def dtype(self):\n        return \1", TRAINER)
    by_method = by_method.replace("self.dtype", "self.dtype()")
    contract = contract_of(tmp_path, train_dot_py=f"{by_method}Half(torch.nn.Linear(4, 4)).step(rows)\n")
    assert told(contract, Aspect.COMPUTE) == [("float16", "")]
    assert told(contract, Aspect.LOSS_SCALE) == [("GradScaler", "where `self.dtype() == torch.float16`")]
