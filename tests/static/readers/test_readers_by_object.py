"""What the readers find hangs on no name, nor on how a program is written, and each certainty has its reason."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "metamorphic"))
sys.path.insert(0, str(Path(__file__).parents[1] / "machine"))

from rename_measure import LEVELS, renamed
from rewritten_cases import WAYS
from run_text import MAIN, program_of

from verifygate.static.machine.libraries import LIBRARIES
from verifygate.static.machine.programs import runs_of
from verifygate.static.readers.all_readers import READERS, violations
from verifygate.static.readers.judgement import Violated

STATIC = Path(__file__).parents[1]
CASES = [case for code in READERS for case in sorted((STATIC / "cases" / code).glob("*.py"))]
HEAD = "import argparse\nimport torch\nfrom torch import nn\n"


def read(text: str) -> list[Violated]:
    return violations(tuple(runs_of(program_of(text), [MAIN], LIBRARIES)))


def rows(text: str) -> list[tuple[str, int, bool]]:
    return [(each.rule, each.place.line, each.certain) for each in read(text)]


@pytest.mark.parametrize("level", [level for level in LEVELS if level != "as written"])
def test_no_finding_hangs_on_a_name(level: str) -> None:
    for case in CASES:
        assert rows(renamed(case.read_bytes(), level).decode()) == rows(case.read_text("utf-8")), case


@pytest.mark.parametrize("way", WAYS)
def test_no_finding_hangs_on_how_it_is_written(way: str) -> None:
    for case in CASES:
        text = case.read_text("utf-8")
        found, now = (Counter((rule, sure) for rule, _, sure in rows(each)) for each in (text, WAYS[way](text)))
        assert now == found, case


def test_cases_are_read() -> None:
    """The two tests above compare something: not nothing with nothing."""
    assert sum(len(rows(case.read_text("utf-8"))) for case in CASES) >= 30


LOOP = """
for x in [torch.randn(2, 4).bfloat16()] * 20:
    net(x).sum().backward()
    optimizer.step()
"""


NET = "net = nn.Linear(4, 4).bfloat16()\n"
ADAM = "optimizer = torch.optim.AdamW(net.parameters(), lr=1e-5)\n"
BY_OPTION = f"""
parser = argparse.ArgumentParser()
parser.add_argument('--low', action='store_true')
args = parser.parse_args()
net = nn.Linear(4, 4)
if args.low:
    net.bfloat16()
{ADAM}{LOOP}"""
BY_RATE = """
def fit(rate):
    net = nn.Linear(4, 4).bfloat16()
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate)
    optimizer.step()
"""
HANDED_ON = f"""
def fit(engine):
    {NET}    {ADAM}    return engine.prepare(optimizer)
"""
FABRIC = """
from lightning.fabric import Fabric
net = nn.Linear(4, 4)
fabric = Fabric(strategy={}, precision="bf16-true")
net, optimizer = fabric.setup(net, torch.optim.AdamW(net.parameters(), lr=1e-5))
for x in [torch.randn(2, 4)] * 20:
    fabric.backward(net(x).sum())
    optimizer.step()
"""
ACCELERATE = """
from accelerate import Accelerator, DeepSpeedPlugin
accelerator = Accelerator(mixed_precision="bf16", deepspeed_plugin=DeepSpeedPlugin(zero_stage=2))
net = nn.Linear(4, 4).bfloat16()
net, optimizer = accelerator.prepare(net, torch.optim.AdamW(net.parameters(), lr=1e-5))
for x in [torch.randn(2, 4)] * 20:
    accelerator.backward(net(x).sum())
    optimizer.step()
"""
IN_A_HANDLER = f"{NET}{ADAM}try:\n    print(net)\nexcept ValueError:\n    optimizer.step()"


@pytest.mark.parametrize(
    ("text", "assumes"),
    [
        (NET + ADAM + LOOP, ""),
        (FABRIC.format("'ddp'"), ""),
        (FABRIC.format("made_elsewhere()"), "no model of `deepspeed.DeepSpeedConfig`"),
        (BY_OPTION, "args.low"),
        (BY_RATE, "the learning rate is not known"),
        (HANDED_ON, "no step of the optimizer is seen"),
        (IN_A_HANDLER, "what comes after a loop or a handler that is not followed to its end"),
    ],
)
def test_what_keeps_a_finding_from_being_certain_is_said(text: str, assumes: str) -> None:
    (found,) = read(HEAD + text)
    assert (found.rule, found.certain, found.assumes) == ("AMP701", not assumes, assumes)


FROZEN = "for weight in net.parameters():\n    weight.requires_grad = False\n"
WITH_A_HEAD = """net.requires_grad_(False)
head = nn.Linear(4, 1)
optimizer = torch.optim.AdamW([*net.parameters(), *head.parameters()], lr=1e-5)
"""

SHARDED = """
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
net = nn.Linear(4, 4)
fully_shard(net, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-5)
"""


WITH_COPIES = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--low", action="store_true")
args = parser.parse_args()
net = nn.Linear(4, 4)
stepped = list(net.parameters())
if args.low:
    stepped = [nn.Parameter(each.detach().float()) for each in stepped]
    net.bfloat16()
optimizer = torch.optim.AdamW(stepped, lr=1e-5)
"""


@pytest.mark.parametrize(
    "text",
    [
        SHARDED + LOOP,  # each forward casts the weights, and casts them back: the framework keeps float32 ones
        FABRIC.format("'deepspeed_stage_2'"),  # the engine steps float32 weights of its own
        ACCELERATE,
        f"{NET}net.float()\n{ADAM}{LOOP}",
        f"{NET}optimizer = torch.optim.AdamW(net.parameters(), lr=0.0){LOOP}",
        f"{NET}{WITH_A_HEAD}{LOOP}",
        f"{NET}{FROZEN}{ADAM}{LOOP}",
        WITH_COPIES + LOOP,  # the option that makes the weights half makes the copies that are stepped
        f"{NET}{ADAM}for group in optimizer.param_groups:\n    group['lr'] = 0.05{LOOP}",
    ],
)
def test_right_programs_are_silent(text: str) -> None:
    assert read(HEAD + text) == []
