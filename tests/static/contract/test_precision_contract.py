"""The precision contract: who drives the precision, what is declared where, and what is not followed."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from verifygate.config.settings import StaticSettings
from verifygate.model.precision_contract import OF_CODE, Aspect, PrecisionContract, altered
from verifygate.report.contract import ContractInWords
from verifygate.sources.discovery import read_sources
from verifygate.static.engine import analyse


def contract_of(folder: Path, text: str, **files: str) -> PrecisionContract:
    (folder / "train.py").write_text(textwrap.dedent(text), encoding="utf-8")
    for name, content in files.items():
        (folder / name.replace("_dot_", ".")).write_text(content, encoding="utf-8")
    return analyse(read_sources(folder, ["."]), StaticSettings()).contract


def values(contract: PrecisionContract, aspect: Aspect) -> list[tuple[str, str, int]]:
    row = contract.row(aspect)
    return [(each.value, each.path, each.line) for each in row.declared] if row else []


def gaps(contract: PrecisionContract) -> list[tuple[str, int, str]]:
    return [(row.aspect.value, gap.line, gap.reason) for row in contract.rows for gap in row.not_followed]


def test_an_own_loop_names_its_regions_and_its_scaler(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        import torch

        def fit(net, rows, on):
            net = net.cuda()
            scaler = torch.amp.GradScaler("cuda", enabled=on)
            adam = torch.optim.Adam(net.parameters())
            for row in rows:
                with torch.autocast("cuda", dtype=torch.float16, enabled=on):
                    error = net(row).mean()
                scaler.scale(error).backward()
                scaler.step(adam)
                scaler.update()
            torch.save({"scaler": scaler.state_dict()}, "last.pt")

        @torch.no_grad()
        def score(net, rows):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                return [net(row) for row in rows]
        """,
    )
    assert values(contract, Aspect.DRIVER) == [
        ("own code: GradScaler", "train.py", 6),
        ("own code: torch.autocast", "train.py", 9),
    ]
    assert values(contract, Aspect.LOSS_SCALE) == [("GradScaler", "train.py", 6)]
    assert values(contract, Aspect.COMPUTE) == [("float16", "train.py", 9)]
    assert values(contract, Aspect.EVALUATION) == [("bfloat16", "train.py", 18)]
    assert values(contract, Aspect.CHECKPOINT) == [("holds the scaler's state", "train.py", 14)]
    assert [row.aspect for row in contract.rows] == list(OF_CODE)
    assert {row.aspect.value for row in contract.rows if row.standing == "not followed"} == {
        *("reduction", "loss", "export")
    }


def test_a_region_of_a_framework_is_the_frameworks_and_one_of_unknown_making_is_quoted(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        import torch
        from accelerate import Accelerator
        accelerator = Accelerator(mixed_precision="bf16")

        def fit(net, row, helper):
            with accelerator.autocast():
                error = net(row)
            with helper.autocast():
                return error + net(row)
        """,
    )
    assert values(contract, Aspect.DRIVER) == [
        ("Accelerate", "train.py", 4),
        ("own code: `helper.autocast()`", "train.py", 9),
    ]
    assert values(contract, Aspect.COMPUTE) == [("bfloat16", "train.py", 4)]


def test_plain_training_is_driven_by_nobody_also_where_no_rule_looks(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        import torch

        def fit(net, rows):
            net = net.to(torch.bfloat16)
            adam = torch.optim.AdamW(net.parameters())
            for row in rows:
                net(row).mean().backward()
                adam.step()
        """,
    )
    nobody = "nobody: torch trains in the dtype of the weights"
    assert values(contract, Aspect.DRIVER) == [(nobody, "train.py", 8)]
    assert values(contract, Aspect.WEIGHTS) == [("bfloat16", "train.py", 5)]


@pytest.mark.parametrize("text", ["import torch\nx = torch.ones(2)\n", "def backward(x): return x\nq.backward()\n"])
def test_where_nothing_trains_there_is_no_contract(tmp_path: Path, text: str) -> None:
    assert contract_of(tmp_path, text).rows == ()


LIGHTNINGS = "Lightning's GradScaler"
FRAMEWORKS = {
    "import lightning as L\nL.Trainer(precision='16-mixed')": ("Lightning Trainer", ["float16"], [], [LIGHTNINGS]),
    "import lightning as L\nL.Trainer(precision='16-true')": ("Lightning Trainer", ["float16"], ["float16"], ["none"]),
    "import lightning\nlightning.Fabric(precision='bf16-true')": (
        "Lightning Fabric", ["bfloat16"], ["bfloat16"], ["none"],
    ),
    "import pytorch_lightning as pl\npl.Trainer(max_epochs=3)": ("Lightning Trainer", ["float32"], [], ["none"]),
    "import accelerate\naccelerate.Accelerator(mixed_precision='bf16')": ("Accelerate", ["bfloat16"], [], ["none"]),
    "from apex import amp\namp.initialize(n, o, opt_level='O1')": ("apex.amp", ["float16"], [], ["apex's own"]),
}  # fmt: skip


@pytest.mark.parametrize("text", FRAMEWORKS)
def test_a_framework_drives_in_the_precision_that_it_is_given(tmp_path: Path, text: str) -> None:
    driver, compute, weights, scale = FRAMEWORKS[text]
    contract = contract_of(tmp_path, text)
    assert [value for value, *_ in values(contract, Aspect.DRIVER)] == [driver]
    assert [value for value, *_ in values(contract, Aspect.COMPUTE)] == compute
    assert [value for value, *_ in values(contract, Aspect.WEIGHTS)] == weights
    assert [value for value, *_ in values(contract, Aspect.LOSS_SCALE)] == scale


def test_a_subclass_of_a_trainer_and_its_arguments_count(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        from transformers import Trainer, TrainingArguments

        class Distiller(Trainer):
            pass

        def main(net):
            Distiller(model=net.half(), args=TrainingArguments("out", fp16=True)).train()
        """,
    )
    assert values(contract, Aspect.DRIVER) == [("Hugging Face Trainer", "train.py", 8)]
    assert values(contract, Aspect.WEIGHTS) == [("float16", "train.py", 8)]
    assert values(contract, Aspect.COMPUTE) == [("float16", "train.py", 8)]


def test_a_sharding_policy_declares_compute_and_reduction(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        import torch
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        def shard(net, hook):
            fully_shard(net, mp_policy=MixedPrecisionPolicy(torch.bfloat16, reduce_dtype=torch.float32))
            fully_shard(net, mp_policy=MixedPrecisionPolicy(param_dtype=net.chosen))
        """,
    )
    assert values(contract, Aspect.COMPUTE) == [("bfloat16", "train.py", 6)]
    assert values(contract, Aspect.REDUCTION) == [("float32", "train.py", 6)]
    assert ("compute", 7, "param_dtype of the FSDP policy: `net.chosen`") in gaps(contract)


def test_float8_is_named_as_not_judged(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        import transformer_engine.pytorch as te
        from torchao.float8 import convert_to_float8_training

        def step(net, row):
            convert_to_float8_training(net)
            with te.fp8_autocast(enabled=True):
                return net(row)

        def off(net, row):
            with te.fp8_autocast(enabled=False):
                return net(row)
        """,
    )
    words = ContractInWords(contract)
    assert words.judged == {"": ["torchao float8", "Transformer Engine"]}
    assert [gap.line for gap in contract.not_judged] == [6, 7]
    assert words.gaps == []
    assert ("not judged", "torchao float8, Transformer Engine") in list(words.text_lines())


def test_what_the_code_leaves_open_is_filled_from_the_configuration_or_named(tmp_path: Path) -> None:
    text = "from accelerate import Accelerator\nAccelerator()\n"
    reason = "no `mixed_precision`: it comes from `accelerate launch` and its configuration"
    contract = contract_of(tmp_path, text)
    assert gaps(contract) == [("compute", 2, reason)]
    *_, given_up, silent = ContractInWords(contract).text_lines()
    assert (given_up[0], silent) == ("not followed", ("not declared", "all else"))
    assert given_up[1].endswith(f":2: compute: {reason}")
    contract = contract_of(tmp_path, text, one_dot_yaml="num_processes: 1\nmixed_precision: fp16\n")
    assert gaps(contract) == []
    (said,) = contract.row(Aspect.COMPUTE).declared  # type: ignore[union-attr]
    assert (said.value, said.path, said.line, said.said_by) == ("float16", "one.yaml", 2, "configuration")
    assert said.note == "mixed_precision: fp16; no code names this file"


def test_a_default_of_argparse_is_said_beside_the_gap(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        import argparse
        from accelerate import Accelerator

        parser = argparse.ArgumentParser()
        parser.add_argument("--mixed-precision", default="fp16")
        args = parser.parse_args()
        accelerator = Accelerator(mixed_precision=args.mixed_precision)
        """,
    )
    assert values(contract, Aspect.COMPUTE) == [("float16", "train.py", 8)]
    assert ("compute", 8, "`mixed_precision=args.mixed_precision`") in gaps(contract)


def test_a_key_of_the_project_itself_is_not_followed_into_its_code(tmp_path: Path) -> None:
    contract = contract_of(tmp_path, "import torch\nloss.backward()\n", run_dot_yaml="use_amp: true\n")
    assert gaps(contract) == [("compute", 1, "`use_amp: true` is the project's own key: not followed into its code")]


def test_tests_declare_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("import lightning as L\nL.Trainer(precision='16-mixed')\n", encoding="utf-8")
    assert contract_of(tmp_path, "x = 1\n").rows == ()


MANUAL = """
import lightning as L
from torch import nn

class Net(L.LightningModule):
    def training_step(self, rows, number):
        self.manual_backward(self.net(rows).mean())
        nn.utils.clip_grad_norm_(self.parameters(), 1.0)
        self.optimizers().step()
"""


@pytest.mark.parametrize(
    ("precision", "severities"), [("16-mixed", ["critical"]), ("bf16-mixed", []), ("${p}", ["low"])]
)
def test_the_configuration_decides_what_a_clip_is_told_as(
    tmp_path: Path, precision: str, severities: list[str]
) -> None:
    """float16: the line of the file is a step of the path. bfloat16: nothing is scaled. Open: low, where it may be."""
    (tmp_path / "net.py").write_text(MANUAL, encoding="utf-8")
    (tmp_path / "fit.yaml").write_text(f"trainer:\n  max_epochs: 1\n  precision: {precision}\n", encoding="utf-8")
    found = [
        each for each in analyse(read_sources(tmp_path, ["."]), StaticSettings()).findings if each.rule == "AMP201"
    ]
    assert [each.severity.value for each in found] == severities
    (tmp_path / "main.py").write_text(
        "import lightning as L\nfrom net import Net\nL.Trainer(precision='16-mixed').fit(Net())\n", encoding="utf-8"
    )
    in_code = [
        each for each in analyse(read_sources(tmp_path, ["."]), StaticSettings()).findings if each.rule == "AMP201"
    ]
    assert [(each.severity.value, each.steps[0].path) for each in in_code] == [("critical", "net.py")]
    if precision == "16-mixed":
        first = found[0].steps[0]
        assert (first.path, first.line, first.text) == ("fit.yaml", 3, "the precision is set here: precision: 16-mixed")


def test_what_a_change_alters_is_told_by_aspect_with_the_new_line(tmp_path: Path) -> None:
    text = "import lightning as L\nL.Trainer(precision='{}')\n"
    before = contract_of(tmp_path, text.format("16-mixed"))
    assert altered(before, before) == ()
    after = contract_of(tmp_path, "\n" + text.format("bf16-true"))
    assert altered(before, after) == (
        "loss scale: Lightning's GradScaler -> none, train.py:3",
        "weights: nothing declared -> bfloat16, train.py:3",
        "compute: float16 -> bfloat16, train.py:3",
        "gradients: nothing declared -> bfloat16, train.py:3",
    )


def test_gradients_have_the_dtype_of_the_weights_that_own_them(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        import torch
        from torch.distributed.fsdp import MixedPrecision
        policy = MixedPrecision(param_dtype=torch.float16, keep_low_precision_grads=True)

        def fit(net, rows, small):
            if small:
                net = net.to(torch.bfloat16)
            adam = torch.optim.AdamW(net.parameters())
            for row in rows:
                net(row).mean().backward()
                adam.step()
        """,
    )
    assert values(contract, Aspect.GRADIENTS) == [("float16", "train.py", 4), ("bfloat16", "train.py", 8)]
    row = contract.row(Aspect.GRADIENTS)
    assert row is not None
    assert [each.condition for each in row.declared] == ["", "where `small`"]


LOSSES = """
import torch
import torch.nn.functional as F

class Net(torch.nn.Module):
    def forward(self, x, y):
        return F.cross_entropy(self.layer(x), y)

def fit(net, rows):
    adam, criterion = torch.optim.Adam(net.parameters()), torch.nn.MSELoss()
    for x, y in rows:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out = net(x)
            loss = LOSS
        LATER
        loss.backward()
        adam.step()

@torch.no_grad()
def score(net, x, y):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return F.cross_entropy(net(x), y)
"""


@pytest.mark.parametrize(
    ("loss", "later", "expected"),
    [
        ("F.cross_entropy(out, y)", "pass", [("float32", "train.py", 14)]),
        ("criterion(out, y)", "pass", [("float32", "train.py", 14)]),
        ("F.gaussian_nll_loss(out, y, y)", "pass", []),  # autocast does not run that one in float32
        ("out.mean()", "pass", []),
        ("None", "loss = F.cross_entropy(out.view(-1, 5).float(), y)", [("float32", "train.py", 15)]),
        ("None", "loss = F.cross_entropy(out.to(torch.float64), y)", [("float64", "train.py", 15)]),
        ("None", "loss = F.cross_entropy(out, y)", []),  # of what the region gives: in half, or not
        ("None", "seen = F.cross_entropy(out.float(), y); loss = out.sum()", []),  # nothing is trained on it
    ],
)
def test_a_loss_is_float32_where_autocast_or_a_cast_makes_it_so(
    tmp_path: Path, loss: str, later: str, expected: list[tuple[str, str, int]]
) -> None:
    contract = contract_of(tmp_path, LOSSES.replace("LOSS", loss).replace("LATER", later))
    assert values(contract, Aspect.LOSS) == expected


def test_a_loss_in_a_model_that_a_region_calls_is_in_the_region(tmp_path: Path) -> None:
    text = (
        LOSSES.replace("LOSS", "out")
        .replace("LATER", "pass")
        .replace("def fit(net, rows):", "def fit(rows, net=None):")
    )
    text = text.replace("torch.nn.MSELoss()\n", "Net()\n    net = criterion\n")
    text = text.replace("net(x)", "net(x, y)", 1)
    assert values(contract_of(tmp_path, text), Aspect.LOSS) == [("float32", "train.py", 7)]


def test_an_export_has_the_dtype_of_the_cast_before_it(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        import torch

        def fit(net, rows, path, smaller):
            adam = torch.optim.Adam(net.parameters())
            for row in rows:
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    loss = net(row).mean()
                loss.backward()
                adam.step()
            state = {name: part.to(torch.bfloat16) for name, part in net.state_dict().items()}
            torch.save(state, path)
            torch.save(net.half().state_dict(), path)
            torch.save(net.state_dict(), path)
            torch.jit.script(net)

        def publish(net):
            torch.onnx.export(net, (), "net.onnx")
            net = net.to(torch.bfloat16)
            net.save_pretrained("out")
        """,
        deploy_dot_py="import torch\n\ndef deploy(net, x):\n    torch.onnx.export(net.bfloat16(), x, 'a.onnx')\n",
    )
    assert values(contract, Aspect.EXPORT) == [
        ("bfloat16", "deploy.py", 4),
        ("bfloat16", "train.py", 11),
        ("float16", "train.py", 13),
        ("float16", "train.py", 15),  # a module is cast in place
        ("bfloat16", "train.py", 20),
    ]
    assert [line for aspect, line, _ in gaps(contract) if aspect == "export"] == [18]


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        ("torch.set_float32_matmul_precision('high')", "pass", [("TF32 in float32 products", "train.py", 5)]),
        ("torch.backends.cuda.matmul.fp32_precision = 'tf32'", "pass", [("TF32 in float32 products", "train.py", 5)]),
        ("torch.backends.cuda.matmul.allow_tf32 = True", "torch.set_float32_matmul_precision('highest')", []),
        (
            "torch.backends.cuda.matmul.allow_tf32 = True",
            "if exact: torch.backends.cuda.matmul.allow_tf32 = False",
            [("TF32 in float32 products", "train.py", 5)],
        ),
        ("torch.backends.cuda.matmul.allow_tf32 = True", "torch.backends.fp32_precision = 'ieee'", []),
    ],
)
def test_tf32_is_said_where_it_is_on_in_the_end(
    tmp_path: Path, first: str, then: str, expected: list[tuple[str, str, int]]
) -> None:
    text = f"""
import torch

def fit(net, rows, exact):
    {first}
    {then}
    adam = torch.optim.Adam(net.parameters())
    scaler = torch.amp.GradScaler("cuda", enabled=False)
    for row in rows:
        net(row).mean().backward()
        adam.step()
"""
    contract = contract_of(tmp_path, text)
    assert values(contract, Aspect.COMPUTE) == expected
    mixed = [line for _, line, why in gaps(contract) if "mixed" in why]
    assert mixed == ([6] if "fp32_precision" in then else [])


def test_a_scaler_that_an_accelerator_is_told_to_leave_off_scales_nothing(tmp_path: Path) -> None:
    text = """
        from accelerate import Accelerator, GradScalerKwargs
        accelerator = Accelerator(mixed_precision="fp16", kwargs_handlers=[GradScalerKwargs(enabled=False)])
        """
    assert values(contract_of(tmp_path, text), Aspect.LOSS_SCALE) == []
    text = text.replace("enabled=False", "growth_interval=100")
    assert values(contract_of(tmp_path, text), Aspect.LOSS_SCALE) == [("Accelerate's GradScaler", "train.py", 3)]


def test_a_base_under_adapters_is_frozen_and_owns_no_gradients(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        import torch
        from peft import LoraConfig, get_peft_model
        from transformers import LlamaForCausalLM, Trainer, TrainingArguments

        model = LlamaForCausalLM.from_pretrained("x").to(torch.bfloat16)
        model = get_peft_model(model, LoraConfig())
        Trainer(model=model, args=TrainingArguments("out", bf16=True)).train()
        """,
    )
    assert values(contract, Aspect.WEIGHTS) == [("bfloat16, frozen under adapters (PEFT)", "train.py", 6)]
    assert values(contract, Aspect.GRADIENTS) == []


def test_a_configuration_that_a_program_reads_is_its_driver(tmp_path: Path) -> None:
    """The backward of a module that Hydra has a Trainer run is no plain training."""
    contract = contract_of(
        tmp_path,
        """
        import hydra, lightning, torch

        class Module(lightning.LightningModule):
            def training_step(self, batch, _):
                self.net(batch).mean().backward()
                self.optimizers().step()

        @hydra.main(config_path=".", config_name="main")
        def main(cfg):
            hydra.utils.instantiate(cfg.trainer).fit(Module())
        """,
        main_dot_yaml="trainer:\n  _target_: lightning.Trainer\n  precision: bf16-mixed\n",
    )
    assert values(contract, Aspect.DRIVER) == [("Lightning Trainer", "main.yaml", 3)]


def test_float8_that_only_evaluates_is_of_the_evaluation(tmp_path: Path) -> None:
    contract = contract_of(
        tmp_path,
        """
        import torch
        import transformer_engine.pytorch as te

        def fit(net, rows):
            adam = torch.optim.Adam(net.parameters())
            for row in rows:
                with te.fp8_autocast(enabled=True):
                    loss = net(row)
                loss.mean().backward()
                adam.step()

        @torch.no_grad()
        def score(net, rows):
            with te.fp8_autocast(enabled=True):
                return [net(row) for row in rows]
        """,
    )
    assert values(contract, Aspect.COMPUTE) == [("float8", "train.py", 8)]
    assert values(contract, Aspect.EVALUATION) == [("float8", "train.py", 15)]


@pytest.mark.parametrize(
    ("word", "dtype"), [("transformer-engine", "bfloat16"), ("transformer-engine-float16", "float16")]
)
def test_lightning_casts_the_module_for_transformer_engine(tmp_path: Path, word: str, dtype: str) -> None:
    contract = contract_of(tmp_path, f"import lightning as L\nL.Trainer(precision='{word}').fit(net)\n")
    assert values(contract, Aspect.WEIGHTS) == [(dtype, "train.py", 2)]
    assert values(contract, Aspect.COMPUTE) == [("float8", "train.py", 2)]


def test_a_trainer_that_a_configuration_makes_without_a_precision_is_a_driver(tmp_path: Path) -> None:
    """Unless another file of the composition says one."""
    train = """
        import hydra, lightning

        class Module(lightning.LightningModule):
            def training_step(self, batch, _):
                return self.net(batch).mean()

        @hydra.main(config_path=".", config_name="main")
        def main(cfg):
            hydra.utils.instantiate(cfg.trainer).fit(Module())
        """
    trainer = "# precision: 16\n_target_: lightning.pytorch.trainer.Trainer\nmax_epochs: 3\n"
    main = "defaults:\n  - trainer: {}\n"
    (tmp_path / "trainer").mkdir()
    (tmp_path / "trainer" / "default.yaml").write_text(trainer, encoding="utf-8")
    contract = contract_of(tmp_path, train, main_dot_yaml=main.format("default"))
    assert values(contract, Aspect.DRIVER) == [("Lightning Trainer", "trainer/default.yaml", 2)]
    assert [(aspect, line) for aspect, line, _ in gaps(contract)] == [("compute", 2)]
    (tmp_path / "trainer" / "half.yaml").write_text("defaults: [default]\nprecision: bf16-mixed\n", encoding="utf-8")
    contract = contract_of(tmp_path, train, main_dot_yaml=main.format("half"))
    assert values(contract, Aspect.COMPUTE) == [("bfloat16", "trainer/half.yaml", 2)]
    assert gaps(contract) == []


def test_a_region_of_both_phases_is_of_the_training(tmp_path: Path) -> None:
    """Autograd is off for one of the words that the phase may be."""
    contract = contract_of(
        tmp_path,
        """
        import torch

        def epoch(phase, net, rows, adam):
            for row in rows:
                with torch.set_grad_enabled(phase == "train"), torch.autocast("cuda", dtype=torch.bfloat16):
                    error = net(row).mean()
                if phase == "train":
                    error.backward()
                    adam.step()

        @torch.no_grad()
        def score(net, rows):
            with torch.autocast("cuda", dtype=torch.float16):
                return [net(row) for row in rows]
        """,
    )
    assert values(contract, Aspect.COMPUTE) == [("bfloat16", "train.py", 6)]


def test_a_region_is_frozen_where_every_caller_hands_in_a_frozen_model(tmp_path: Path) -> None:
    """A policy is trained through the function that its frozen reference runs through, too."""
    text = """
        import copy
        import torch

        def probabilities(net, ids):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                return net(ids).log_softmax(-1)

        def fit(policy, rows, adam):
            reference = copy.deepcopy(policy)
            reference.requires_grad_(False)
            for ids in rows:
                error = probabilities({trained}, ids).mean() - probabilities(reference, ids).mean()
                (error + policy(ids).mean()).backward()
                adam.step()
        """
    contract = contract_of(tmp_path, text.format(trained="policy"))
    assert values(contract, Aspect.COMPUTE) == [("bfloat16", "train.py", 6)]
    assert values(contract_of(tmp_path, text.format(trained="reference")), Aspect.COMPUTE) == []


def test_the_hook_that_validates_is_of_the_evaluation(tmp_path: Path) -> None:
    """A framework calls it, and no backward follows."""
    contract = contract_of(
        tmp_path,
        """
        import torch

        class Module:
            def training_step(self, row):
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    error = self.net(row).mean()
                error.backward()
                self.adam.step()

            def validation_step(self, row):
                with torch.autocast("cuda", dtype=torch.float16):
                    error = self.net(row).mean()
                return {"loss": error}
        """,
    )
    assert values(contract, Aspect.COMPUTE) == [("bfloat16", "train.py", 6)]
    assert values(contract, Aspect.EVALUATION) == [("float16", "train.py", 12)]
