"""An error about dtypes that ends a probed run is explained, and the remedy mends the program."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from verifygate.cli import main

torch = pytest.importorskip("torch")

from verifygate.instrument.dtypes.install import _of_call  # noqa: E402 - it imports torch
from verifygate.instrument.dtypes.syntax import calls  # noqa: E402

_FILE = Path(__file__).parent / "dtype_errors" / "programs.py"
_SPEC = importlib.util.spec_from_file_location("dtype_error_programs", _FILE)
programs = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = programs
_SPEC.loader.exec_module(programs)
QUICK = ("rotary", "method_past_wrapper", "custom_function_backward")
"""Those that run in every `make test`; each takes the time to import torch twice."""
OTHERS = [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in programs.PROGRAMS]


@pytest.fixture
def probe(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def run(text: str, *options: str) -> tuple[int, str]:
        Path("train.py").write_text(text)
        code = main(["probe", *options, "--", sys.executable, "train.py"])
        return code, capsys.readouterr().out

    return run


def _placed(said: str, text: str) -> str:
    """`said`, with file and line in place of `@text of a line@`."""
    lines = text.splitlines()

    def place(found: re.Match[str]) -> str:
        return f"train.py:{next(number for number, line in enumerate(lines, 1) if found[1] in line)}"

    return re.sub("@([^@]+)@", place, said)


@pytest.mark.parametrize("name", OTHERS)
def test_the_operands_and_the_mend(name, probe, tmp_path):
    program = programs.PROGRAMS[name]
    code, out = probe(program.text)
    assert code == 2
    for said in program.says:
        assert _placed(said, program.text) in out, out
    (tmp_path / "mended.py").write_text(program.mended)
    mended = subprocess.run([sys.executable, "mended.py"], capture_output=True, text=True, check=False)
    assert mended.returncode == 0, mended.stderr


@pytest.mark.parametrize("raised", ["m(torch.randn(4, 3))", "(_ for _ in ()).throw(ValueError('dtype: bfloat16'))"])
def test_other_errors_are_left_alone(raised, probe):
    code, out = probe(f"{programs.HEAD}m = nn.Linear(8, 8)\n{raised}\n")
    assert code == 2
    assert "dtypes:" not in out


def test_nothing_of_the_program_runs_for_it(probe):
    """A property of the program's own in the failing line is not read again."""
    text = programs.HEAD + (
        "class M(nn.Module):\n"
        "    def forward(self, x):\n"
        "        return x.half()\n"
        "class Box:\n"
        "    @property\n"
        "    def m(self):\n"
        "        open('reads', 'a').write('x')\n"
        "        return M()\n"
        "box = Box()\n"
        "torch.mm(box.m(torch.ones(2, 2)), torch.ones(2, 2))\n"
    )
    code, out = probe(text, "--format", "json")
    assert (code, json.loads(out)["outcome"]) == (2, "failed")
    assert Path("reads").read_text() == "x"


@pytest.mark.parametrize("under", [nullcontext(), torch.device("cpu")], ids=["plain", "default-device"])
def test_operands_have_the_names_of_the_project(under):
    """A mode of torch's, as that of a default device, hands every call on as `func(*args)`."""
    canvas, features = torch.zeros(4, 2, dtype=torch.float16), torch.ones(2, 2)
    where = torch.tensor([0, 1])
    with pytest.raises(RuntimeError, match="Index put") as caught, under:
        canvas[where] = features
    trace = list(calls(caught.value.__traceback__))
    rows = _of_call(trace, 0, SimpleNamespace(of=lambda _: None))
    assert [(row["text"], row["dtype"], row["written"]) for row in rows] == [
        ("canvas", "float16", True),
        ("features", "float32", False),
    ]
