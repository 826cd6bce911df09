"""What a rule cannot tell is listed with its place and reason: silence means that it looked."""

from __future__ import annotations

import textwrap

import pytest

from verifygate.config.rule_selection import RuleSelection
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

LOOP = """
import torch
{imports}

def train(model, optimizer, scaler, batches, {given}):
    for batch in batches:
        optimizer.zero_grad()
        {around}
            loss = model(batch).mean()
{step}
"""
PLAIN = "loss.backward()\noptimizer.step()"
SCALED = "scaler.scale(loss).backward()\nscaler.step(optimizer)\nscaler.update()"
REGION = 'with torch.autocast("cuda", dtype=torch.float16):'


def gaps(text: str, **more: str) -> list[tuple[str, str]]:
    files = {"train": text, **more}
    sources = Sources([SourceFile(f"{name}.py", each.encode()) for name, each in files.items()])
    return [(gap.rule, gap.reason) for gap in analyse(sources, RuleSelection()).not_followed]


def loop(step: str = SCALED, *, around: str = REGION, imports: str = "", given: str = "x") -> str:
    return LOOP.format(imports=imports, given=given, around=around, step=textwrap.indent(step, " " * 8))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (loop("stepper(scaler.scale(loss), optimizer)", given="stepper"), "`stepper` does with the scaled loss"),
        (loop("stepper(loss, optimizer, scaler)", given="stepper"), "`stepper` does with `scaler`"),
        (loop("lib.turn(scaler, loss)", imports="import lib"), "`lib.turn` does with `scaler`"),
    ],
)
def test_what_is_handed_out_of_sight(text: str, what: str):
    ((rule, reason),) = gaps(text)

    assert (rule, reason) == ("", f"what {what} is not in sight")


def test_a_context_that_cannot_be_told():
    ((rule, reason),) = gaps(loop(around="with precision.context():", given="precision"))

    assert not rule
    assert reason == "whether `precision.context()` is an autocast region cannot be told: this loss is scaled behind it"


@pytest.mark.parametrize(
    "text",
    [
        loop(),
        loop(around='with precision, torch.autocast("cuda"):', given="precision"),
        loop(SCALED + "\nsave_checkpoint(model, optimizer, scaler)", imports="from lib import save_checkpoint"),
        loop("print(loss, scaler)\n" + SCALED),
        loop(PLAIN, around='with torch.autocast("cuda", dtype=torch.bfloat16):'),
    ],
)
def test_what_was_followed_is_not_listed(text: str):
    assert gaps(text) == []


def test_a_dtype_that_cannot_be_told_beside_a_plain_backward():
    ((rule, reason),) = gaps(loop(PLAIN, around='with torch.autocast("cuda", dtype=dtype):', given="dtype"))

    assert rule == "AMP305"
    assert reason.startswith("the dtype of this region cannot be told")


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (
            "if stepper is None:\n    loss.backward()\n    optimizer.step()\nelse:\n    stepper(loss)",
            "whether `stepper`, which is given the loss instead, scales it cannot be told",
        ),
        (
            "loss = stepper.grown(loss)\nloss.backward()\noptimizer.step()",
            "whether `stepper.grown`, which is given the loss instead, scales it cannot be told",
        ),
        (
            "loss = loss * stepper.scale_of_losses\nloss.backward()\noptimizer.step()",
            "whether the gradients are divided by `stepper.scale_of_losses` cannot be told",
        ),
    ],
)
def test_a_loss_that_may_be_scaled_elsewhere(step: str, reason: str):
    assert gaps(loop(step, given="stepper")) == [("AMP305", reason)]


def test_an_optimizer_that_a_framework_may_hold():
    other = """
        from accelerate import Accelerator
        from train import train

        def main(parts, batches):
            accelerator = Accelerator(mixed_precision="fp16")
            train(parts.model, parts.optimizer, None, batches, accelerator)
        """
    ((rule, reason),) = gaps(loop(PLAIN), main=textwrap.dedent(other))

    assert rule == "AMP305"
    assert reason.startswith("whether `parts.optimizer` is an optimizer that `Accelerator` (main.py:6) leads to")


@pytest.mark.parametrize(
    ("entry", "what"), [('"scaler": states.last', "`states.last`"), ('"amp": scaler_state', "`scaler_state`")]
)
def test_a_state_that_may_be_the_scalers(entry: str, what: str):
    text = """
        import torch

        def train(model, batches, path, states, scaler_state):
            optimizer = torch.optim.AdamW(model.parameters())
            scaler = torch.amp.GradScaler("cuda")
            optimizer.load_state_dict(torch.load(path)["optimizer"])
            for batch in batches:
                optimizer.zero_grad()
                scaler.scale(model(batch)).backward()
                scaler.step(optimizer)
                scaler.update()
            torch.save({"optimizer": optimizer.state_dict(), ENTRY}, path)
        """
    ((rule, reason),) = gaps(textwrap.dedent(text).replace("ENTRY", entry))

    assert rule == "AMP302"
    assert f"{what} (train.py:13)" in reason


def test_one_reason_is_listed_once_a_file():
    step = "if x:\n    stepper(scaler.scale(loss))\nelse:\n    stepper(scaler.scale(loss), optimizer)"

    assert len(gaps(loop(step, given="x, stepper"))) == 1


def test_a_derivative_divided_by_what_is_called_a_scale():
    text = """
        import torch

        def train(critic, optimizer, scaler, batches, settings):
            for batch in batches:
                optimizer.zero_grad()
                with torch.autocast("cuda"):
                    (slope,) = torch.autograd.grad(critic(batch).sum(), batch, create_graph=True)
                    slope = slope / settings.scale
                    loss = (slope.norm() - 1) ** 2
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
        """
    ((rule, reason),) = gaps(textwrap.dedent(text))

    assert rule == "AMP205"
    assert reason.startswith("whether `settings.scale` is the loss scale")
