"""AMP501's fix in every form of import: the object that is made is the same, and torch no longer warns."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from scanning import scan

from verifygate.commands import cli
from verifygate.fix import repaired
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

FORMS = {
    "module alias": (
        """\
import torch.cuda.amp as A
made = [A.autocast(flag), A.GradScaler(65536.)]
""",
        """\
import torch.amp as A
made = [A.autocast("cuda", enabled=flag), A.GradScaler("cuda", init_scale=65536.)]
""",
    ),
    "module from its package": (
        """\
from torch.cuda import amp
made = [amp.autocast(flag), amp.GradScaler(2.**4, 3.)]
""",
        """\
from torch import amp
made = [amp.autocast("cuda", enabled=flag), amp.GradScaler("cuda", init_scale=2.**4, growth_factor=3.)]
""",
    ),
    "names with aliases": (
        """\
from torch.cuda.amp import autocast as ac, GradScaler as GS
made = [ac(not flag,), GS(enabled=flag)]
""",
        """\
from torch.amp import autocast as ac, GradScaler as GS
made = [ac("cuda", enabled=not flag,), GS("cuda", enabled=flag)]
""",
    ),
    "inner modules": (
        """\
from torch.cuda.amp.autocast_mode import autocast
made = [autocast(enabled=flag, cache_enabled=False)]
""",
        """\
from torch.amp import autocast
made = [autocast("cuda", enabled=flag, cache_enabled=False)]
""",
    ),
    "the parent of the module": (
        """\
from torch import cuda
made = [cuda.amp.autocast(flag), cuda.amp.GradScaler()]
""",
        """\
import torch
from torch import cuda
made = [torch.amp.autocast("cuda", enabled=flag), torch.amp.GradScaler("cuda")]
""",
    ),
    "both devices": (
        """\
from torch.cuda.amp import autocast
from torch.cpu.amp import autocast as on_cpu
import torch
made = [autocast(flag), on_cpu(True, torch.bfloat16, False)]
""",
        """\
from torch.amp import autocast
from torch.amp import autocast as on_cpu
import torch
made = [autocast("cuda", enabled=flag), on_cpu("cpu", enabled=True, dtype=torch.bfloat16, cache_enabled=False)]
""",
    ),
    "options": (
        """\
from torch.cuda.amp import autocast
options = {'enabled': flag}
made = [autocast(**options)]
""",
        """\
from torch.amp import autocast
options = {'enabled': flag}
made = [autocast("cuda", **options)]
""",
    ),
    "in a function": (
        """\
def build(use):
    from torch.cuda.amp import autocast
    return autocast(use)


made = [build(flag)]
""",
        """\
def build(use):
    from torch.amp import autocast
    return autocast("cuda", enabled=use)


made = [build(flag)]
""",
    ),
    "decorator": (
        """\
import torch
from torch.cuda.amp import autocast


@autocast(flag)
def made():
    return torch.is_autocast_enabled('cuda')
""",
        """\
import torch
from torch.amp import autocast


@autocast("cuda", enabled=flag)
def made():
    return torch.is_autocast_enabled('cuda')
""",
    ),
    "nothing between parentheses on several lines": (
        """\
import torch
made = [torch.cuda.amp.GradScaler(
), torch.cuda.amp.autocast(  # all of it
    # for now
)]
""",
        """\
import torch
made = [torch.amp.GradScaler("cuda"
), torch.amp.autocast("cuda"  # all of it
    # for now
)]
""",
    ),
    "in an f-string": (
        """\
import torch
made = [f"{torch.cuda.amp.autocast(flag)._enabled}", f'{torch.cuda.amp.autocast()._enabled}']
""",
        """\
import torch
made = [f"{torch.amp.autocast('cuda', enabled=flag)._enabled}", f'{torch.amp.autocast("cuda")._enabled}']
""",
    ),
    "in a region of another dtype": (
        """\
import torch
outer = lambda: torch.autocast("cuda", dtype=torch.bfloat16)
with torch.autocast("cpu", dtype=torch.float16):
    made = [torch.cuda.amp.autocast(flag), torch.cpu.amp.autocast(
        cache_enabled=True,  # as ever
    ), torch.cuda.amp.autocast(flag, torch.float16)]
""",
        """\
import torch
outer = lambda: torch.autocast("cuda", dtype=torch.bfloat16)
with torch.autocast("cpu", dtype=torch.float16):
    made = [torch.amp.autocast("cuda", enabled=flag, dtype=torch.float16), torch.amp.autocast(
        "cpu",
        cache_enabled=True,  # as ever
        dtype=torch.bfloat16,
    ), torch.amp.autocast("cuda", enabled=flag, dtype=torch.float16)]
""",
    ),
    "what asks for the state and sets it": (
        """\
import torch as t
t.set_autocast_gpu_dtype(
    t.bfloat16  # for all
)
t.set_autocast_cpu_enabled(flag)
made = [t.get_autocast_gpu_dtype(), t.is_autocast_cpu_enabled(), t.cuda.amp.autocast()]
t.set_autocast_cpu_enabled(False), t.set_autocast_gpu_dtype(t.float16)
""",
        """\
import torch as t
t.set_autocast_dtype(
    "cuda",
    t.bfloat16  # for all
)
t.set_autocast_enabled("cpu", flag)
made = [t.get_autocast_dtype("cuda"), t.is_autocast_enabled("cpu"), t.amp.autocast("cuda", dtype=t.float16)]
t.set_autocast_enabled("cpu", False), t.set_autocast_dtype("cuda", t.float16)
""",
    ),
    "a device of the program's own": (
        """\
import torch
device = torch.device("xpu" if flag else "cpu")
with torch.cuda.amp.autocast(), torch.cpu.amp.autocast(flag):
    made = [torch.is_autocast_enabled(each) for each in (device.type, "cuda", "cpu", "mps")]
""",
        """\
import torch
device = torch.device("xpu" if flag else "cpu")
with torch.amp.autocast("cuda"), torch.amp.autocast("cpu", enabled=flag):
    made = [torch.is_autocast_enabled(each) for each in (device.type, "cuda", "cpu", "mps")]
""",
    ),
    "one of two contexts": (
        """\
import torch

with torch.no_grad(), torch.cuda.amp.autocast(flag):
    made = [torch.is_grad_enabled()]
""",
        """\
import torch

with torch.no_grad(), torch.amp.autocast("cuda", enabled=flag):
    made = [torch.is_grad_enabled()]
""",
    ),
}

TELL = """
import json, sys, warnings
import torch

def tell(each):
    if isinstance(each, torch.amp.autocast):
        return [each.device, each._enabled, str(each.fast_dtype), each._cache_enabled]
    if isinstance(each, torch.amp.GradScaler):
        return [each._device, each._enabled, getattr(each, "_init_scale", 0), getattr(each, "_growth_factor", 0)]
    return each

torch.cuda.amp.common.amp_definitely_not_available = lambda: False  # else all of it is off without a GPU
answers = []
for text in json.load(sys.stdin):
    for flag in (False, True):
        names = {"flag": flag}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            exec(compile(text, "<form>", "exec"), names)
        made = names["made"]
        each = made() if callable(made) else [tell(each) for each in made]
        answers.append([str(each), sum(issubclass(one.category, (FutureWarning, DeprecationWarning)) for one in told)])
print(json.dumps(answers))
"""


def fixed(text: str) -> str:
    sources = Sources([SourceFile("train.py", f"flag = True\n{text}".encode())])
    repair = repaired(sources, scan, ["AMP501"])
    file = repair.after.get("train.py")
    assert file is not None
    return file.text.removeprefix("flag = True\n")


SEVERAL_USES = """\
import torch
from torch.cuda.amp import GradScaler, autocast


class Square(torch.autograd.Function):
    @staticmethod
    @torch.cuda.amp.custom_fwd
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @torch.cuda.amp.custom_bwd
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


@autocast(enabled=False)
def evaluate(model, x):
    return model(x)


model, scaler = torch.nn.Linear(2, 2), GradScaler(enabled=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    with autocast(False):
        loss = Square.apply(model(torch.ones(1, 2))).sum()
    with torch.cuda.amp.autocast(enabled=False), torch.cpu.amp.autocast(enabled=False):
        loss = loss + model(torch.ones(1, 2)).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
with torch.cpu.amp.autocast(False):
    evaluate(model, torch.ones(1, 2))
spare = GradScaler(enabled=False)
"""


def test_all_uses_of_one_finding_are_repaired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`check` lists nine uses in five findings; what `fix` leaves has none, and runs without a warning of torch."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SEVERAL_USES, encoding="utf-8")
    before = json.loads(command("check", "--format", "json", "--no-cache", "--select", "AMP501"))["findings"]

    command("fix", "--select", "AMP501")

    assert sorted(1 + len(each["places"]) for each in before) == [1, 1, 2, 2, 3]
    assert json.loads(command("check", "--format", "json", "--no-cache", "--select", "AMP501"))["findings"] == []
    run = [sys.executable, "-W", "error::FutureWarning", "-W", "error::DeprecationWarning", "train.py"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)


def command(*arguments: str) -> str:
    return CliRunner().invoke(cli, list(arguments), standalone_mode=False, catch_exceptions=False).stdout


@pytest.mark.parametrize("name", FORMS)
def test_arguments_and_imports_are_rewritten(name: str):
    """Each form becomes what torch.amp takes, word for word."""
    before, after = FORMS[name]

    assert fixed(before) == after


@pytest.mark.slow
def test_the_same_objects_are_made_and_no_warning_is_given(tmp_path: Path):
    """Old and new text run side by side: device, switch, dtype, cache, scale and growth agree, for both flags."""
    texts = [text for pair in FORMS.values() for text in pair]

    run = subprocess.run(
        [sys.executable, "-c", TELL], input=json.dumps(texts), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    answers = json.loads(run.stdout)

    pairs = [answers[at : at + 4] for at in range(0, len(answers), 4)]
    assert len(pairs) == len(FORMS)
    for old_off, old_on, new_off, new_on in pairs:
        assert [old_off[0], old_on[0]] == [new_off[0], new_on[0]]
        assert old_off[1] > 0
        assert [new_off[1], new_on[1]] == [0, 0]
