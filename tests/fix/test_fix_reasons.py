"""Why a fix is not offered, or not called safe, finding by finding."""

from __future__ import annotations

import pytest

from verifygate.config.settings import StaticSettings
from verifygate.fix.assess import assessed
from verifygate.fix.draft import Project
from verifygate.model import Applicability
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

REGION = """import torch


def train(model, criterion, optimizer, scaler, batches, extra, closure):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16){items}:
            loss = criterion(model(inputs), targets)
            scaler.scale(loss).backward()
            {rest}
        scaler.update()
"""
PRECISION = """import torch


def train(model, optimizer, batches, use_amp, options, config):
    dtype = torch.bfloat16 if config.bf16 else torch.float16
    {before}scaler = torch.amp.GradScaler({arguments})
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype={dtype}):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
LOADER = """from torch.utils.data import DataLoader

NONE = 0


def build(dataset):
    return DataLoader({arguments})
"""
KEPT = """import torch


def train(model, criterion, optimizer, scaler, loader):
    total = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward({arguments})
        scaler.step(optimizer)
        scaler.update()
        total += loss
    return total
"""


def told(code: str, text: str) -> list[Applicability | str]:
    """How safe the fix of each finding is, or why there is none."""
    sources = Sources([SourceFile("train.py", text.encode())])
    found = [each for each in analyse(sources, StaticSettings()).findings if each.rule == code]
    built, reasons = assessed(found, Project(sources))
    return [built.get(each) or reasons[each] for each in found]


@pytest.mark.parametrize(
    ("items", "rest", "answer"),
    [
        ("", "scaler.step(optimizer)", Applicability.SAFE),
        ("", "seen = loss / 2", Applicability.SAFE),
        ("", "scaler.step(optimizer, closure)", "line 10 in the region does other work, which may need it"),
        (
            "",
            "scaler.step(optimizer); extra(inputs)",
            "line 10 in the region does other work, which may need it",
        ),
        ("", "norm = model.weight @ inputs", "line 10 in the region does other work, which may need it"),
        ("", "norm = loss**2", "line 10 in the region does other work, which may need it"),
        ("", "extra.update(loss)", "line 10 in the region does other work, which may need it"),
        (
            "",
            "scaler.step(optimizer)\n            # the end",
            "a comment follows the last statement of the region",
        ),
        (
            ", torch.autograd.set_detect_anomaly(True)",
            "scaler.step(optimizer)",
            "the region is not a separate `with` statement around it in this function",
        ),
    ],
)
def test_only_gradients_and_steps_leave_a_region(items: str, rest: str, answer: Applicability | str):
    """What else is computed in a region may be meant to run in half precision."""
    assert told("AMP101", REGION.format(items=items, rest=rest)) == [answer]


@pytest.mark.parametrize(
    ("before", "arguments", "dtype", "answer"),
    [
        ("", '"cuda"', "torch.bfloat16", Applicability.UNSAFE),
        ("", '"cuda", enabled=use_amp', "torch.bfloat16", Applicability.UNSAFE),
        ("", '"cuda"', "dtype", Applicability.UNSAFE),
        (
            "",
            '"cuda", enabled=use_amp',
            "dtype",
            "the scaler already has an `enabled` setting of another meaning",
        ),
        (
            "",
            '"cuda"',
            "torch.bfloat16 if config.bf16 else torch.float16",
            "cannot determine the dtype of the regions where the scaler is built",
        ),
        (
            "",
            '"cuda", **options',
            "torch.bfloat16",
            "the scaler is built elsewhere, or its arguments are not literal",
        ),
    ],
)
def test_the_scaler_is_switched_by_a_dtype_that_is_plain_to_see(
    before: str, arguments: str, dtype: str, answer: Applicability | str
):
    """The fix says nothing about a dtype that it does not read where the region is entered."""
    assert told("AMP304", PRECISION.format(before=before, arguments=arguments, dtype=dtype)) == [answer]


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ("dataset, num_workers=0, prefetch_factor=2", Applicability.SAFE),
        ("dataset, prefetch_factor=2", Applicability.UNSAFE),
        ("dataset, num_workers=NONE, prefetch_factor=2", Applicability.UNSAFE),
        ("dataset, prefetch_factor=2,  # keeps up\n", "a comment says why the option is there"),
        ("dataset,\n    # keeps up\n    prefetch_factor=2", "a comment says why the option is there"),
        ("dataset, num_workers=0, prefetch_factor=(ahead := 2)", "an option contains an assignment expression"),
        (
            "dataset, **{'prefetch_factor': 2}",
            "the options come from a dict, which may be meant for other loaders too",
        ),
    ],
)
def test_options_are_dropped_where_no_workers_are_meant(arguments: str, answer: Applicability | str):
    """Who left the workers out may have meant to have some."""
    assert told("PERF109", LOADER.format(arguments=arguments)) == [answer]


@pytest.mark.parametrize(
    ("arguments", "answer"), [("", Applicability.SAFE), ("retain_graph=True", Applicability.UNSAFE)]
)
def test_a_graph_that_is_kept_on_purpose_makes_detaching_unsafe(arguments: str, answer: Applicability):
    """Behind a plain backward nobody can differentiate the sum again."""
    assert told("PERF110", KEPT.format(arguments=arguments)) == [answer]


def test_a_rule_by_its_name_in_a_list_is_left():
    """The list names rules by name or code; only a code is sure to be the one that silences nothing."""
    comment = "# verifygate: ignore[AMP{}, {}] neither is needed\nx = 1\n"

    reason = "the comment names the rule by its name, not by its code"
    assert told("GATE102", comment.format("216", "unequal-branches")) == [Applicability.UNSAFE, reason]


STEPS = """import torch


def train(model, criterion, optimizer, optimizers, scaler, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(inputs), targets)
        {rest}
"""
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"


@pytest.mark.parametrize(
    ("code", "rest", "answer"),
    [
        (
            "AMP201",
            f"scaler.scale(loss).backward(); {CLIP}\n        scaler.step(optimizer)\n        scaler.update()",
            "other statements precede the clip on its line: move it to a line of its own",
        ),
        (
            "AMP209",
            "scaler.scale(loss).backward()\n        for each in optimizers:\n            scaler.step(each)",
            Applicability.SAFE,
        ),
    ],
)
def test_a_line_is_put_where_it_can_stand(code: str, rest: str, answer: Applicability | str):
    """What cannot follow or come before a statement is said before anything is tried."""
    assert told(code, STEPS.format(rest=rest)) == [answer]


def test_nothing_follows_a_step_that_is_returned():
    """The update would never run."""
    text = """def one(model, optimizer, scaler, batch):
    scaler.scale(model(batch)).backward()
    return scaler.step(optimizer)


def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        one(model, optimizer, scaler, batch)
"""
    assert told("AMP209", "import torch\n\n\n" + text) == [
        "the result of the step is returned, so nothing can follow it"
    ]
