"""What keeps a finding from being certain is named, and rests on less than an object or its use. One test per kind."""

from __future__ import annotations

import pytest

from verifygate.config.rule_selection import RuleSelection
from verifygate.model import Finding
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

HEAD = "import torch\nfrom torch import nn\n\n\n"


def found(text: str, rule: str, **others: str) -> Finding | None:
    files = {"train.py": HEAD + text} | {f"{name}.py": other for name, other in others.items()}
    sources = Sources([SourceFile(path, each.encode()) for path, each in files.items()])
    findings = analyse(sources, RuleSelection(select=(rule,))).findings
    assert len(findings) <= 1
    return findings[0] if findings else None


def assumed(text: str, rule: str, **others: str) -> str:
    finding = found(text, rule, **others)
    assert finding is not None
    return "; ".join(value for each in finding.details if each.label == "assumes" for value in each.values)


LOOP = """def train(net, {optimizer}, {scaler}, data):
    for x in data:
        {name}.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(x).mean()
        {own}.scale(loss).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        {own}.step({name})
        {own}.update()
"""


@pytest.mark.parametrize("annotation", ["", ": Any", ": object", ": Callable", ": T", ": Steps"])
def test_an_annotation_that_names_no_class_takes_nothing_away(annotation):
    before = "from typing import Any, Callable, Protocol, TypeVar\nT = TypeVar('T')\n"
    before += "class Steps(Protocol):\n    def scale(self, x): ...\n    def step(self, o): ...\n\n\n"
    loop = LOOP.format(optimizer=f"b{annotation}", scaler=f"c{annotation}", name="b", own="c")
    assert assumed(before + loop, "AMP201") == ""


NAMED = """def train(net, optimizer, data):
    scaler = torch.amp.GradScaler("cuda")
    for x in data:
        optimizer.prepare()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(x).mean()
        scaler.scale(loss).backward()
        optimizer.step()
        scaler.update()
"""


def test_a_name_alone_is_likely_and_an_object_is_certain():
    assert "named" in assumed(NAMED, "AMP207")
    assert found(NAMED.replace("optimizer", "thing"), "AMP207") is None
    by_use = NAMED.replace("prepare()", "zero_grad()")
    assert assumed(by_use, "AMP207") == assumed(by_use.replace("optimizer", "thing"), "AMP207") == ""


CALLED = """def train(net, data, after):
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x in data:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(x).mean()
        scaler.scale(loss).backward()
        scaler.step(sgd)
        scaler.update()
        after()
"""


def test_a_callable_that_is_handed_in_may_zero_gradients():
    assert "handed in" in assumed(CALLED, "AMP212")
    assert assumed(CALLED.replace("        after()\n", ""), "AMP212") == ""


STATE = """class Mixed:
    def __init__(self, precision):
        self.scaler = torch.amp.GradScaler("cuda") if precision == "fp16" else None

    def backward(self, loss):
        if self.scaler is not None:
            self.scaler.scale(loss).backward()
        else:
            loss.backward()


def train(net, data, mixed: Mixed):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in data:
        opt.zero_grad()
        loss = net(x).mean()
        mixed.backward(loss)
        opt.step()
"""


def test_a_class_that_only_an_annotation_tells_is_in_no_certain_state():
    assert assumed(STATE, "AMP207")
    assert assumed(STATE.replace(' if precision == "fp16" else None', ""), "AMP207") == ""


def test_a_tensor_that_is_no_modules_parameter_has_gradients_of_its_own():
    text = """def train(net, data):
    centre = torch.zeros(2, requires_grad=True)
    first = torch.optim.SGD(net.parameters(), lr=0.1)
    second = torch.optim.SGD([centre], lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x in data:
        first.zero_grad()
        scaler.scale(net(x).mean()).backward()
        scaler.step(first)
        second.zero_grad()
        scaler.scale(centre.mean()).backward()
        scaler.step(second)
        scaler.update()
"""
    assert found(text, "AMP212") is None
    assert found(text.replace("        second.zero_grad()\n", ""), "AMP212") is not None


def test_a_loss_whose_name_is_bound_anew_is_another():
    text = """def train(net, data):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in data:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(x).mean()
        loss = net(x).mean()
        loss.backward()
        opt.step()
"""
    assert found(text, "AMP305") is None
    assert found(text.replace("        loss = net(x).mean()\n        loss.b", "        loss.b"), "AMP305") is not None


@pytest.mark.parametrize("helper", ["pair", "make_pair", "get_instance"])
def test_a_helper_that_is_not_followed_may_make_the_optimizer(helper):
    text = f"""from kit import {helper}


def folds(parts):
    for part in parts:
        net, opt = {helper}()
        scaler = torch.amp.GradScaler("cuda")
        for x in part:
            opt.zero_grad()
            with torch.autocast("cuda"):
                loss = net(x).mean()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
"""
    finding = found(text, "AMP301")
    assert finding is None or finding.certainty == "likely"


def test_a_region_whose_dtype_a_global_switch_sets_is_not_followed():
    """`autocast("cuda")` computes in what `set_autocast_dtype` says: no word of float16 then."""
    text = """def train(net, data):
    torch.set_autocast_dtype("cuda", torch.bfloat16)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in data:
        opt.zero_grad()
        with torch.autocast("cuda"):
            loss = net(x).mean()
        loss.backward()
        opt.step()
"""
    assert found(text, "AMP305") is None
    switch = '    torch.set_autocast_dtype("cuda", torch.bfloat16)\n'
    assert found(text.replace(switch, ""), "AMP305") is not None
