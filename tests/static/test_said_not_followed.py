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
    reason = "whether `precision.context()` is an autocast region cannot be told: this loss is scaled behind it"

    assert ("", reason) in gaps(loop(around="with precision.context():", given="precision"))


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


@pytest.mark.parametrize("penalty", ["penalty_scale", "settings.penalty_scale"])
def test_a_derivative_weighted_by_what_is_called_a_scale_where_the_scale_is_shown(penalty: str):
    text = """
        import torch

        def train(critic, optimizer, batches, settings, penalty_scale):
            scaler = torch.amp.GradScaler("cuda")
            for batch in batches:
                optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16):
                    (slope,) = torch.autograd.grad(critic(batch).sum(), batch, create_graph=True)
                    loss = (slope.norm() - 1) ** 2 * PENALTY
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                print(scaler.get_scale())
        """
    ((rule, reason),) = gaps(textwrap.dedent(text).replace("PENALTY", penalty))

    assert rule == "AMP205"
    assert reason.startswith(f"whether `{penalty}` is the loss scale")


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ("release_gradients()", [("AMP212", "only its name says that `release_gradients()` zeroes the gradients")]),
        ("on_end()", []),  # likely: it may zero them
    ],
)
def test_what_is_only_called_as_if_it_zeroed_the_gradients(after: str, found: list[tuple[str, str]]):
    text = f"""
        import torch

        def train(model, batches, {after.removesuffix("()")}):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            scaler = torch.amp.GradScaler("cuda")
            for batch in batches:
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = model(batch).mean()
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                {after}
        """
    assert gaps(textwrap.dedent(text)) == found


@pytest.mark.parametrize(("name", "found"), [("weighted", True), ("value", False)])
def test_a_loss_that_is_only_called_a_share(name: str, found: bool):
    text = f"""
        import torch

        def train(model, optimizer, batches, window):
            scaler = torch.amp.GradScaler("cuda")
            for number, (inputs, targets) in enumerate(batches):
                with torch.autocast("cuda", dtype=torch.float16):
                    {name} = torch.nn.functional.mse_loss(model(inputs), targets)
                scaler.scale({name}).backward()
                if (number + 1) % window == 0:
                    scaler.step(optimizer)
                    scaler.update()
                    optimizer.zero_grad()
        """
    said = [("AMP216", f"whether `{name}` is a share of the losses of a window")]
    assert gaps(textwrap.dedent(text)) == said * found


def test_a_key_that_another_file_may_put_in():
    train = """
        import torch
        import shell

        class Plan:
            def __init__(self):
                self.env = {"train_loader": [], "scaler": torch.amp.GradScaler("cuda")}

        def train():
            plan = Plan()
            return len(plan.env["train_data"])
        """
    shell = "def export(process, name):\n    process.env[name] = '1'\n"
    said = [("KEY101", "whether 'train_data' is put in by another file, which fills an attribute of that name")]

    assert gaps(textwrap.dedent(train), shell=shell) == said
    assert gaps(textwrap.dedent(train).replace("import shell\n", ""), shell=shell) == []


@pytest.mark.parametrize(
    ("before", "given", "rule", "reason"),
    [
        (
            "",
            "(p for p in net.parameters() if p.requires_grad)",
            "AMP701",
            "whether the parameters of `net` that are taken here",
        ),
        ("net.frozen.requires_grad_(False)", "net.parameters()", "AMP701", "which parameters of `net` are trained"),
    ],
)
def test_half_weights_of_which_only_some_are_trained(before: str, given: str, rule: str, reason: str):
    text = f"""
        import torch

        def train(net, batches):
            net = net.to(torch.bfloat16)
            {before}
            adam = torch.optim.AdamW({given}, lr=3e-5)
            for batch in batches:
                net(batch).float().mean().backward()
                adam.step()
                adam.zero_grad()
        """
    ((of, said),) = gaps(textwrap.dedent(text))

    assert of == rule
    assert said.startswith(reason)
