"""Programs with more states than one exploration may have: what they violate is found, and what is given up is said."""

from __future__ import annotations

import re
import sys
from datetime import date
from pathlib import Path

import pytest

from verifygate.config.rule_selection import RuleSelection
from verifygate.config.settings import Settings
from verifygate.model import Check, Status
from verifygate.model.check_report import CheckReport
from verifygate.process.subject import Subject
from verifygate.report.text import render_check
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.stage import StageContext
from verifygate.static.engine import analyse
from verifygate.static.paths import exploration
from verifygate.static.stage import StaticStage

HEAD = """import torch
from torch import nn


def train(net, opt, data, cfg):
    scaler = torch.amp.GradScaler("cuda")
    for x in data:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            out = net(x).float()
"""
CLIP = """        if cfg.clip > 0:
            {unscale}nn.utils.clip_grad_norm_(net.parameters(), cfg.clip)
        scaler.step(opt)
        scaler.update()
"""
UNSCALE = "scaler.unscale_(opt)\n            "


def switches(count: int, unscale: str = "") -> str:
    """So many optional losses, each with a backward of its own."""
    each = "        if cfg.w{0} > 0:\n            scaler.scale(cfg.w{0} * out.mean()).backward(retain_graph=True)\n"
    return HEAD + "".join(each.format(at) for at in range(count)) + CLIP.format(unscale=unscale)


def named(count: int, unscale: str = "") -> str:
    """The same, and each scaled loss has a name."""
    text = switches(count, unscale)
    return re.sub(r"(scaler\.scale\(cfg\.(w\d+) .*\))\.backward", r"\2 = \1\n            \2.backward", text)


STEP = """import torch
from torch import nn


def step(net, opt, scaler, x, cfg):
    opt.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = net(x).float().mean()
    scaler.scale(loss).backward()
    if cfg.clip > 0:
        {unscale}nn.utils.clip_grad_norm_(net.parameters(), cfg.clip)
    scaler.step(opt)
    scaler.update()


def train(net, opt, data, cfg):
    scaler = torch.amp.GradScaler("cuda")
    for x in data:
"""


def callers(count: int, unscale: str = "") -> str:
    """A step that so many branches call."""
    calls = (f"        if cfg.mode{at}:\n            step(net, opt, scaler, x, cfg)\n" for at in range(count))
    return STEP.format(unscale=unscale.replace(" " * 12, " " * 8)) + "".join(calls)


MADE = """    net{0} = nn.Linear(4, 4)
    opt{0} = torch.optim.SGD(net{0}.parameters(), 0.1) if cfg.use{0} else None
"""
ZEROED = """        if opt{0} is not None:
            opt{0}.zero_grad()
"""
STEPPED = """        if opt{0} is not None:
            {unscale}nn.utils.clip_grad_norm_(net{0}.parameters(), 1.0)
            scaler.step(opt{0})
"""


def optimizers(count: int, unscale: str = "") -> str:
    """So many optimizers, each of which may be missing."""
    made, zeroed, stepped = (
        "".join(each.format(at, unscale=unscale.replace("opt", f"opt{at}")) for at in range(count))
        for each in (MADE, ZEROED, STEPPED)
    )
    loss = " + ".join(f"net{at}(x).float().mean()" for at in range(count))
    return (
        "import torch\nfrom torch import nn\n\n\ndef train(data, cfg):\n    scaler = torch.amp.GradScaler('cuda')\n"
        f"{made}    for x in data:\n{zeroed}        with torch.autocast('cuda', dtype=torch.float16):\n"
        f"            loss = {loss}\n        scaler.scale(loss).backward()\n{stepped}        scaler.update()\n"
    )


def result_of(text: str, *rules: str):
    return analyse(Sources([SourceFile("train.py", text.encode())]), RuleSelection(select=rules))


def clips(text: str) -> list[int]:
    return [number for number, line in enumerate(text.splitlines(), 1) if "clip_grad_norm_(" in line]


@pytest.mark.parametrize("count", [8, 64])
@pytest.mark.parametrize("program", [switches, named, callers, optimizers])
def test_what_every_path_violates_stays_certain(program, count):
    text = program(count)
    found = result_of(text, "AMP201")
    assert [(each.line, each.certainty) for each in found.findings] == [(line, "certain") for line in clips(text)]
    assert not [each for each in found.not_followed if not each.rule]


@pytest.mark.parametrize("program", [switches, named, callers, optimizers])
def test_a_right_program_of_many_states_is_clean(program):
    assert not result_of(program(16, UNSCALE), "AMP201", "AMP202", "AMP203", "AMP206", "AMP207", "AMP209").findings


def test_what_only_some_paths_violate_is_still_likely():
    """The clip under the same condition as `unscale_` is right, the one under another is not, on some path."""
    text = switches(24).replace(
        "        if cfg.clip > 0:\n",
        "        if cfg.other:\n            scaler.unscale_(opt)\n        if cfg.clip > 0:\n",
    )
    assert [each.certainty for each in result_of(text, "AMP201").findings] == ["likely"]
    assert not result_of(text.replace("cfg.clip > 0", "cfg.other"), "AMP201").findings


def of_one(count: int, unscaled: str = "") -> str:
    """A clip that is about one of so many optimizers, and nothing says which."""
    steps = "".join(f"        if cfg.use{at}:\n            scaler.step(cfg.opt{at})\n" for at in range(count))
    before = f"        scaler.unscale_({unscaled})\n" if unscaled else ""
    return (
        f"{HEAD}        scaler.scale(out.mean()).backward()\n{before}"
        "        nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n"
        f"        scaler.step(opt)\n{steps}        scaler.update()\n"
    )


@pytest.mark.parametrize("count", [2, 32])
def test_a_clip_that_is_about_one_of_many_optimizers(count):
    """Certain where it is wrong whichever it is; not known where it is right for one of them."""
    text = of_one(count)
    assert [(each.line, each.certainty) for each in result_of(text, "AMP201").findings] == [(clips(text)[0], "certain")]
    assert not result_of(of_one(count, "opt"), "AMP201").findings


def test_a_clip_that_is_right_for_one_of_too_many_optimizers_is_given_up():
    assert "AMP201" in {each.rule for each in result_of(of_one(32, "opt"), "AMP201").not_followed}


def checks_of(text: str) -> dict[str, Check]:
    sources = Sources([SourceFile("train.py", text.encode())])
    subject = Subject(Path(), Path(sys.executable))
    result = StaticStage().run(
        StageContext(settings=Settings(root=Path(), today=date(2026, 1, 1)), sources=sources, subject=subject)
    )
    return {each.id: each for each in result.checks}


def test_a_function_that_is_given_up_is_not_measured(monkeypatch):
    """No PASS for what nobody has looked at; what was found elsewhere stays, and rules that need no order pass."""
    monkeypatch.setattr(exploration, "MAX_STATES", 10)
    checks = checks_of(switches(8))
    assert checks["static.AMP201"].status is Status.NOT_MEASURED
    assert checks["static.AMP201"].required
    assert checks["static.AMP201"].actual == "1 function given up"
    assert checks["static.AMP301"].status is Status.PASS


def test_check_says_first_which_functions_it_gave_up(monkeypatch):
    monkeypatch.setattr(exploration, "MAX_STATES", 10)
    found = result_of(switches(8))
    text = render_check(CheckReport(files_checked=1, findings=(), not_analysed=(), not_followed=found.not_followed))
    assert "1 function given up" in text
    assert text.splitlines()[1].strip().startswith("train.py:5: train has too many paths")
