"""Where no fix is right there is none, and what a fix would break elsewhere is seen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from scanning import scan

from verifygate.commands import cli
from verifygate.config.rule_selection import RuleSelection
from verifygate.fix import repaired, with_fixes
from verifygate.fix.draft import Draft
from verifygate.fix.prove import objections
from verifygate.model import Applicability
from verifygate.model.check_report import CheckReport
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
LOOP = """import torch


def train(model, loss_fn, optimizer, other, batches, use_amp, *flags):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        {body}
"""


def one(text: str, path: str = "train.py") -> Sources:
    return Sources([SourceFile(path, text.encode())])


def fixes(sources: Sources, code: str) -> list[Applicability | None]:
    return [each.fix for each in with_fixes(scan(sources).findings, sources) if each.rule == code]


@pytest.mark.parametrize(
    "call",
    [
        'autocast("cuda")',
        "autocast(torch.bfloat16)",
        "autocast(*flags)",
        'GradScaler("cuda")',
        "autocast(device_type=1)",
    ],
)
def test_arguments_that_cannot_be_bound_are_left(call: str):
    """A device or a dtype in the place of the flag is a mistake that no rewriting can guess away."""
    sources = one(f"import torch\n\n\ndef train(*flags):\n    torch.cuda.amp.{call}\n")

    assert fixes(sources, "AMP501") == [None]


@pytest.mark.parametrize(
    "line",
    [
        "from torch import get_autocast_gpu_dtype; made = get_autocast_gpu_dtype()",
        "import torch; torch.set_autocast_gpu_dtype()",
        "import torch; torch.set_autocast_gpu_dtype(dtype=torch.float16)",
        "import torch; torch.is_autocast_cpu_enabled('cpu')",
    ],
)
def test_state_functions_that_raise_or_stand_alone_are_left(line: str):
    """They take what they take by position; a name of its own would leave its import behind."""
    assert fixes(one(f"{line}\n"), "AMP501") == [None]


def test_columns_count_characters():
    """Editors and SARIF count characters, and syntax trees bytes; the fix finds the call all the same."""
    sources = one('import torch\n\nmade = "größer", torch.cuda.amp.GradScaler(4.0)\n')
    (finding,) = (each for each in scan(sources).findings if each.rule == "AMP501")

    assert (finding.line, finding.column) == (3, 18)
    assert (
        repaired(sources, scan, ["AMP501"])
        .changed[0][1]
        .text.endswith('torch.amp.GradScaler("cuda", init_scale=4.0)\n')
    )


def test_a_decorator_without_a_call_is_left():
    """`@autocast` takes the function for its flag: the code never worked, and guessing what it should do is no fix."""
    sources = one("import torch\n\n\n@torch.cuda.amp.autocast\ndef forward(model, x):\n    return model(x)\n")

    assert fixes(sources, "AMP501") == [None]


def test_a_test_of_the_class_makes_the_fix_unsafe():
    """The new scaler is no instance of the old class."""
    text = "import torch\n\nscaler = torch.cuda.amp.GradScaler()\n"
    tests = "import torch\n\n\ndef check(scaler):\n    return isinstance(scaler, torch.cuda.amp.GradScaler)\n"

    assert fixes(one(text), "AMP501") == [Applicability.SAFE]
    both = Sources([SourceFile("a.py", text.encode()), SourceFile("b.py", tests.encode())])
    assert fixes(both, "AMP501") == [Applicability.UNSAFE]


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(scaler, (int, GradScaler))",
        "isinstance(getattr(torch, 'scaler', scaler), GradScaler)",
        "type(scaler) is not GradScaler",
    ],
)
def test_a_class_that_is_asked_for_is_the_new_one_too(line: str):
    """Whoever takes the unsafe fix gets a file that agrees with itself."""
    sources = one(f"import torch\nfrom torch.cuda.amp import GradScaler\n\nscaler = GradScaler()\nassert {line}\n")

    assert fixes(sources, "AMP501") == [Applicability.UNSAFE]
    ((_, new),) = repaired(sources, scan, ["AMP501"], unsafe=True).changed
    assert new.text.splitlines()[1:] == [
        "from torch.amp import GradScaler",
        "",
        'scaler = GradScaler("cuda")',
        f"assert {line}",
    ]


@pytest.mark.parametrize("kinds", ["KINDS = (torch.cuda.amp.GradScaler, int)", "print(type(x) in [int, GradScaler])"])
def test_a_class_among_others_may_be_asked_for(kinds: str):
    """A tuple of classes is made to be asked for."""
    assert fixes(one(f"import torch\nscaler = torch.cuda.amp.GradScaler()\n{kinds}\n"), "AMP501") == [
        Applicability.UNSAFE
    ]


def test_unknown_keywords_may_hold_the_dtype():
    """Inside a region of another dtype the new autocast takes that one, unless the keywords name one."""
    text = "import torch\n\n\ndef run(**options):\n    torch.cuda.amp.autocast(**options).__enter__()\n"
    outer = text + "\n\nwith torch.autocast('cuda', dtype=torch.bfloat16):\n    run()\n"

    assert fixes(one(text), "AMP501") == [Applicability.SAFE]
    assert fixes(one(outer), "AMP501") == [Applicability.UNSAFE]


def test_a_name_that_another_file_takes_keeps_its_import():
    """Other files call it by the old signature, so only this file's own call is rewritten."""
    text = "import torch\nfrom torch.cuda.amp import autocast\n\n\ndef run(model, x):\n    autocast(True)(model)(x)\n"
    user = "from amp_names import autocast\n\n\ndef run(model, x, flag):\n    autocast(flag)(model)(x)\n"
    sources = Sources([SourceFile("amp_names.py", text.encode()), SourceFile("user.py", user.encode())])

    repair = repaired(sources, scan, ["AMP501"])

    changed = {new.path: new.text for _, new in repair.changed}
    assert set(changed) == {"amp_names.py"}
    assert "from torch.cuda.amp import autocast" in changed["amp_names.py"]
    assert 'torch.amp.autocast("cuda", enabled=True)' in changed["amp_names.py"]


@pytest.mark.parametrize(
    "loop",
    [
        "for kind in flags:\n            one = optimizer[kind]\n            scaler.step(one)\n        scaler.update()",
        "for each in optimizer.values():\n            scaler.step(each)\n        scaler.update()",
        "for kind in flags:\n            scaler.step(optimizer[str(kind)])\n        scaler.update()",
        "for kind in flags:\n            scaler.scale(loss).backward()\n            scaler.step(optimizer[kind])",
    ],
)
def test_no_update_is_put_where_another_optimizer_steps_each_time(loop: str):
    """One update after all of them, or one for each: the loop does not say."""
    sources = one(LOOP.format(body=loop))

    assert not repaired(sources, scan, ["AMP209"], unsafe=True).changed


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("AMP201", f"{CLIP}\n        scaler.step(optimizer)\n        scaler.step(other)\n        scaler.update()"),
        ("AMP201", f"if use_amp: {CLIP}\n        scaler.step(optimizer)\n        scaler.update()"),
        ("AMP209", "scaler.step(optimizer)\n        if use_amp:\n            scaler.update()"),
        ("AMP207", "scaler.unscale_(optimizer)\n        optimizer.step(lambda: loss)\n        scaler.update()"),
    ],
    ids=["two optimizers", "on the line of its if", "updated on some path", "closure"],
)
def test_what_needs_a_decision_is_left(code: str, body: str):
    """No fix is offered, and nothing is changed, where more than one repair is thinkable."""
    sources = one(LOOP.format(body=body))

    assert set(fixes(sources, code)) == {None}
    assert not repaired(sources, scan, [code], unsafe=True).changed


NAMES = """import torch
from torch.cuda.amp import GradScaler, autocast, custom_fwd

scaler = GradScaler()
region = autocast()
dtype = torch.get_autocast_gpu_dtype()


class Square(torch.autograd.Function):
    @staticmethod
    @custom_fwd
    def forward(ctx, x):
        return x * x
"""


_SCALER, _REGION = "scaler = GradScaler()", "region = autocast()"
_STATE, _FWD = "dtype = torch.get_autocast_gpu_dtype()", "@custom_fwd"


@pytest.mark.parametrize(
    ("torch", "left"),
    [
        ("", []),
        (">=2.4", []),
        (">=2.3,<2.6", [_STATE, _FWD]),
        (">=1.13", [_SCALER, _STATE, _FWD]),
        (">=1.12,<2.6", [_SCALER, _STATE, _FWD]),
        (">=1.11", [_SCALER, _REGION, _STATE, _FWD]),
        ("<2.6", []),
    ],
)
def test_no_name_is_written_that_a_torch_of_the_project_lacks(torch: str, left: list[str]):
    """What the lowest version that is allowed has is written, and of the rest it is said why not."""
    repair = repaired(one(NAMES), scan, ["AMP501"], selection=RuleSelection(torch_version=torch))

    assert sorted(finding.snippet for finding, _ in repair.refused) == sorted(left)
    assert all(f"allows torch {torch}" in reason for _, reason in repair.refused)
    file = repair.after.get("train.py")
    assert file is not None
    assert ("from torch.amp import GradScaler" in file.text) is (_SCALER not in left)
    assert compile(file.data, "train.py", "exec")


def test_what_is_only_likely_gets_no_safe_fix():
    """The code may be right as it stands, and a person is told to look."""
    body = "if flags:\n            scaler.unscale_(optimizer)\n        " + CLIP
    sources = one(LOOP.format(body=f"{body}\n        scaler.step(optimizer)\n        scaler.update()"))
    (finding,) = (each for each in scan(sources).findings if each.rule == "AMP201")
    assert finding.certainty == "likely"

    repair = repaired(sources, scan, ["AMP201"])

    assert not repair.changed
    assert [reason for _, reason in repair.refused]


def test_unsafe_fixes_wait_to_be_asked_for():
    """A step that may be skipped from now on is not slipped in."""
    sources = one(LOOP.format(body="scaler.unscale_(optimizer)\n        optimizer.step()\n        scaler.update()"))

    assert not repaired(sources, scan, ["AMP207"]).changed
    assert repaired(sources, scan, ["AMP207"], unsafe=True).changed


@pytest.mark.parametrize(
    ("data", "objection"),
    [
        (b"x = 1\nloss.backward(\ny = 2\n", "does not parse"),
        (b"x = 1\nloss.backward()\ny = 2\n", "changes nothing"),
        (b"x = 1\nlosses.backward()\ny = 3\n", "changes line 3 too"),
        (b"x = 1\nlosses.backward()\ny = 2\n", "still there"),
    ],
)
def test_a_wrong_draft_fails_its_proof(data: bytes, objection: str):
    """Broken text, no change, a change next to the edit and a finding that stays are each seen."""
    found = scan(one("import torch\nscaler = torch.cuda.amp.GradScaler()\n")).findings[:1]
    report = CheckReport(files_checked=1, findings=found, not_analysed=(), not_followed=())
    before = one("x = 1\nloss.backward()\ny = 2\n")

    told = list(objections(Draft("train.py", found, data, ((2, 2),), Applicability.SAFE), before, report, report))

    assert objection in told[0]


def test_a_new_finding_fails_the_proof():
    """A fix may not trade one finding for another."""
    old = scan(one("import torch\nscaler = torch.cuda.amp.GradScaler()\n"))
    clip = f"{CLIP}\n        scaler.step(optimizer)\n        scaler.update()"
    new = scan(one(LOOP.format(body=clip)))
    draft = Draft("train.py", old.findings, b"y = 1\n", ((1, 1),), Applicability.SAFE)

    assert any("AMP201 in train" in text for text in objections(draft, one("x = 1\n"), old, new))


def command(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    monkeypatch.chdir(folder)
    return CliRunner().invoke(cli, list(arguments), standalone_mode=False, catch_exceptions=False)


def test_the_command_rewrites_in_place_and_keeps_the_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """--diff shows and ends 1, without it the file is rewritten with its mode and the end is 0."""
    file = tmp_path / "train.py"
    file.write_text("import torch\n\nscaler = torch.cuda.amp.GradScaler(1024.0)\n", encoding="utf-8")
    file.chmod(0o750)

    shown = command(tmp_path, monkeypatch, "fix", "--diff")
    assert shown.return_value == 1
    assert '+scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)\n' in shown.stdout
    assert "cuda.amp" in file.read_text(encoding="utf-8")

    assert command(tmp_path, monkeypatch, "fix").return_value == 0
    assert file.read_text(encoding="utf-8").endswith('torch.amp.GradScaler("cuda", init_scale=1024.0)\n')
    assert file.stat().st_mode & 0o777 == 0o750
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]
    assert command(tmp_path, monkeypatch, "fix", "--diff").return_value == 0


def test_findings_that_are_left_end_in_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What cannot be fixed is not forgotten."""
    (tmp_path / "train.py").write_text("import torch\n\ntorch.cuda.amp.GradScaler('cuda')\n", encoding="utf-8")

    shown = command(tmp_path, monkeypatch, "fix", "--diff")
    assert (shown.return_value, shown.stdout) == (1, "")
    assert command(tmp_path, monkeypatch, "fix").return_value == 1


def test_a_diff_names_lines_of_the_files_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A line that the fix before it puts in moves what is left: by the file on disk until it is written."""
    text = """import torch


def train(model, batches, loss_fn):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
"""
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    assert "not fixed: train.py:15: AMP302" in command(tmp_path, monkeypatch, "fix", "--diff").stderr
    assert "not fixed: train.py:16: AMP302" in command(tmp_path, monkeypatch, "fix").stderr


def test_a_clean_tree_loads_no_libcst(tmp_path: Path):
    """libcst is for trees with something to fix."""
    (tmp_path / "train.py").write_text("import torch\n\nscaler = torch.amp.GradScaler('cuda')\n", encoding="utf-8")
    program = "import sys; from verifygate.cli import main; code = main({}); print(code, 'libcst' in sys.modules)"

    def loaded(*arguments: str) -> str:
        run = [sys.executable, "-c", program.format(list(arguments))]
        return subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()[-1]

    assert loaded("check") == "0 False"
    assert loaded("fix") == "0 False"
    (tmp_path / "old.py").write_text("import torch\n\nscaler = torch.cuda.amp.GradScaler()\n", encoding="utf-8")
    assert loaded("check", "--format", "json") == "1 True"
