"""What keeps a finding from being certain is named, and rests on less than an object or its use. One test per kind."""

from __future__ import annotations

import pytest

from verifygate.config.rule_selection import RuleSelection
from verifygate.model import Certainty, Finding
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


def settled(files: dict[str, str], rule: str) -> tuple[str, tuple[str, ...]]:
    sources = Sources([SourceFile(path, (HEAD + text).encode()) for path, text in files.items()])
    (finding,) = analyse(sources, RuleSelection(select=(rule,))).findings
    assert (finding.certainty is Certainty.LIKELY) or not finding.settled_by
    return finding.certainty.value, finding.settled_by


HELPER = """class Helper:
    def prepare(self, scaler, optimizer):
        {does}


"""
HELPED = LOOP.replace("def train(net,", "def train(net, helper{annotation},").replace(
    "        nn.utils", "        helper.prepare({own}, {name})\n        nn.utils"
)


def helped(annotation: str = "", does: str = "print(optimizer)") -> dict[str, str]:
    loop = HELPED.format(annotation=annotation, optimizer="opt", scaler="scaler", name="opt", own="scaler")
    return {"train.py": HELPER.format(does=does) + loop}


def test_the_annotation_that_is_proposed_settles_it():
    """Either way: the call is followed then."""
    at = HELPER.count("\n") + HEAD.count("\n") + 1
    said = f"annotate `helper` (train.py:{at}), with `Helper` if that is what it is"
    assert settled(helped(), "AMP201") == ("likely", (said,))
    assert settled(helped(": Helper"), "AMP201") == ("certain", ())
    assert found(helped(": Helper", "scaler.unscale_(optimizer)")["train.py"], "AMP201") is None


def test_no_annotation_is_proposed_that_is_a_guess():
    """Two classes have such a method."""
    text = helped()["train.py"]
    another = HELPER.format(does="pass").replace("Helper", "Other")
    assert settled({"train.py": another + text}, "AMP201") == ("likely", ())


OPTIONS = """def train(net, args, data):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x in data:
        opt.zero_grad()
        scaler.scale(net(x).mean()).backward()
        if not args.clip_scaled:
            scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
"""
MAIN = 'from train import train\nif __name__ == "__main__":\n    train(nn.Linear(2, 1), parse(), load())\n'


def test_a_run_is_the_command_of_the_one_program_and_what_it_needs():
    run = "run `verifygate probe -- python main.py`, with `args.clip_scaled` true"
    assert settled({"train.py": OPTIONS, "main.py": MAIN}, "AMP201") == ("likely", (run,))
    assert settled({"train.py": OPTIONS}, "AMP201") == ("likely", ())
    both = {"train.py": OPTIONS, "main.py": MAIN, "again.py": MAIN}
    assert settled(both, "AMP201") == ("likely", ()), "which of two programs is a guess"
    called = MAIN.replace("    train(nn.Linear", "    print(nn.Linear")
    assert settled({"train.py": OPTIONS, "main.py": called}, "AMP201") == ("likely", ()), "it does not come there"
    test = "from train import train\n\n\ndef test_it():\n    train(nn.Linear(2, 1), object(), [])\n"
    by_test = "run `pytest --verifygate tests/test_it.py`, with `args.clip_scaled` true"
    assert settled({"train.py": OPTIONS, "tests/test_it.py": test}, "AMP201") == ("likely", (by_test,))


def test_of_a_rule_that_a_run_can_show_the_run_is_named():
    """Also of one that looks at facts; a script needs no guard where nothing imports it."""
    text = """net = nn.Linear(2, 1).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
kind = torch.float16 if choose() else torch.float32
for x in load():
    opt.zero_grad()
    with torch.autocast("cuda", dtype=kind):
        loss = net(x).mean()
    loss.backward()
    opt.step()
"""
    run = "run `verifygate probe -- python train.py`"
    assert settled({"train.py": text}, "AMP305") == ("likely", (run,))
    assert settled({"a b/train.py": text}, "AMP305")[1] == ("run `verifygate probe -- python 'a b/train.py'`",)
    inside = {"pkg/train.py": "from . import other\n" + text, "pkg/other.py": "", "pkg/__init__.py": ""}
    assert settled(inside, "AMP305") == ("likely", ()), "it is no script"
    assert settled({"train.py": text, "other.py": "import train\n"}, "AMP305") == ("likely", ())


def test_a_likely_finding_without_a_known_assumption_names_none():
    schedule = LOOP.format(optimizer="b", scaler="c", name="b", own="c") + "        scheduler.step()\n"
    text = (
        schedule.replace("data):", "data, scheduler):")
        .replace("(net, b, c,", "(net,")
        .replace(
            "    for x in data:",
            '    b = torch.optim.AdamW(net.parameters())\n    c = torch.amp.GradScaler("cuda")\n    for x in data:',
        )
    )
    finding = found(text, "AMP213")
    assert finding is not None
    assert finding.certainty is Certainty.LIKELY
    assert [each for each in finding.details if each.label == "assumes"] == []
