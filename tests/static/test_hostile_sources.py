"""Files that are hostile or broken: accounted for one by one, never a crash, never a hang, never silently clean."""

from __future__ import annotations

import subprocess
import sys

import pytest

from verifygate.config.settings import StaticSettings
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.analysis_result import AnalysisResult
from verifygate.static.engine import analyse
from verifygate.static.paths import entry_points
from verifygate.static.rules.amp3_life import amp301_scaler_recreated as amp301

HEAD = "from torch.amp import GradScaler, autocast\n"
USE = "def f(scaler, optimizer, a):\n"
TOO_DEEP = {
    "parentheses": "x = " + "(" * 3000 + "1" + ")" * 3000,
    "brackets": "x = " + "[" * 3000 + "]" * 3000,
    "sum": "x = " + "+".join(["1"] * 20_000),
    "sum-in-a-call": USE + "    scaler.scale(" + "+".join(["a"] * 900) + ").backward()\n    scaler.step(optimizer)",
    "attributes": "x = GradScaler" + ".a" * 2000 + "()\nx.step(x)",
    "calls": "x = autocast" + "()" * 20_000,
    "not": "x = " + "not " * 20_000 + "1",
    "lambdas": "x = " + "lambda: " * 20_000 + "1",
    "elif": USE + "    if a: pass\n" + "".join(f"    elif a == {i}: scaler.step(optimizer)\n" for i in range(500)),
    "ternaries": "x = " + "".join(f"a if b{i} else " for i in range(3000)) + "c",
    "subscripts": "x = d" + "['a']" * 5000,
}
LARGE_BUT_FINE = {
    "parameters": "f = lambda " + ", ".join(f"a{i}" for i in range(20_000)) + ": GradScaler()\nf()",
    "strings": "x = " + " ".join(["'a'"] * 20_000),
    "nested-loops": USE
    + "".join(" " * i + "for x in a:\n" for i in range(1, 20))
    + " " * 20
    + "scaler.step(optimizer)",
    "elif": USE + "    if a: pass\n" + "".join(f"    elif a == {i}: scaler.step(optimizer)\n" for i in range(150)),
    "branches": USE
    + "".join(
        f"    if a.x{i}: scaler.scale(a).backward()\n    if a.y{i}: scaler.step(optimizer)\n" for i in range(200)
    ),
    "patterns": USE
    + "    match a:\n        case True: scaler.step(optimizer)\n        case {'k': None, **rest}: pass\n"
    "        case [1, *_] | -1 | GradScaler(a=2): scaler.update()",
    "classes-in-a-circle": "class A(B): pass\nclass B(A): pass\na = A()\na.scaler.step(a.optimizer)",
    "names-in-a-circle": "a = b\nb = a\na, b = b, a\na.step(b)\nGradScaler(a)",
    "dicts-in-a-circle": "d = {**e}\ne = {**d}\nprint(d['k'])\nd = {**d}\nprint(d['q'])",
    "functions-in-a-circle": USE + "    scaler.step(optimizer)\n    g(scaler, optimizer, a)\n"
    "def g(scaler, optimizer, a):\n    scaler.update()\n    f(scaler, optimizer, a)",
}
UNREADABLE = {
    "latin-1-undeclared": HEAD.encode() + b"x = '\xe9'",
    "NUL": HEAD.encode() + b"x = '\0'",
    "utf-16": HEAD.encode("utf-16"),
    "unknown-encoding": b"# coding: klingon\n" + HEAD.encode(),
    "no-text-encoding": b"# coding: hex\n" + HEAD.encode(),
    "undefined-encoding": b"# coding: undefined\n" + HEAD.encode(),
    "syntax-error": (HEAD + "def f(:\n").encode(),
    "python-2": (HEAD + "print 'a'\n").encode(),
    "long-number": (HEAD + "x = " + "9" * 5000).encode(),
    "five-megabytes": HEAD.encode() + b"# " + b"x" * (5 * 1024 * 1024),
}


def analysed(data: bytes | str) -> AnalysisResult:
    raw = data if isinstance(data, bytes) else (HEAD + data).encode()
    return analyse(Sources([SourceFile("train.py", raw)]), StaticSettings())


@pytest.mark.parametrize("name", TOO_DEEP)
def test_file_nested_too_deeply_is_not_analysed(name: str):
    """It is listed with a reason of one line, as a file that mentions AMP."""
    (lost,) = analysed(TOO_DEEP[name]).not_analysed
    assert (lost.path, lost.mentions_amp) == ("train.py", True)
    assert lost.reason
    assert "\n" not in lost.reason


@pytest.mark.parametrize("name", UNREADABLE)
def test_file_that_is_no_python_is_not_analysed(name: str):
    """Whatever is wrong with its bytes, it is listed, and not taken for a file without AMP."""
    (lost,) = analysed(UNREADABLE[name]).not_analysed
    assert (lost.path, lost.mentions_amp) == ("train.py", True)
    assert "\n" not in lost.reason


@pytest.mark.parametrize("name", LARGE_BUT_FINE)
def test_strange_but_valid_file_is_analysed(name: str):
    """Circles and sizes that no person writes end by themselves."""
    assert analysed(LARGE_BUT_FINE[name]).not_analysed == ()


@pytest.mark.parametrize(
    "data", [b"# coding: latin-1\nx = '\xe9'\n", b"\xef\xbb\xbfx = 1\n", b"x = 1\r\ny = 2\ry = 3\n", b""]
)
def test_other_encodings_and_line_ends_are_read(data: bytes):
    """PEP 263 declarations, byte order marks and all three line ends are Python."""
    assert analysed(data).not_analysed == ()


def test_a_function_is_read_for_the_first_of_its_scalers(monkeypatch: pytest.MonkeyPatch):
    """Thousands of scalers in one function, or one loop, must not read all of it thousands of times."""
    reads = []
    real = amp301._builds_optimizer
    monkeypatch.setattr(amp301, "_builds_optimizer", lambda *args: reads.append(args[1].name) or real(*args))

    analysed("def f():\n" + "    GradScaler()\n" * 30 + "def g():\n    while True:\n" + "        GradScaler()\n" * 30)

    assert sorted(set(reads)) == ["f", "g"]
    assert len(reads) <= 4


def test_other_files_are_still_analysed():
    """One broken file costs the findings of no other."""
    broken = SourceFile("broken.py", UNREADABLE["syntax-error"])
    sound = SourceFile("sound.py", b"from torch.cuda.amp import GradScaler\nGradScaler()\n")
    outcome = analyse(Sources([broken, sound]), StaticSettings())
    assert [lost.path for lost in outcome.not_analysed] == ["broken.py"]
    assert [finding.path for finding in outcome.findings] == ["sound.py"]


@pytest.mark.slow
def test_calls_that_multiply_come_to_an_end():
    """Hundreds of functions that each call two others: walked in part, and the report says which were not."""
    text = "".join(
        f"def f{i}(scaler, opt, loss):\n    scaler.scale(loss).backward()\n"
        f"    f{i + 1}(scaler, opt, loss)\n    f{i + 2}(scaler, opt, loss)\n"
        for i in range(300)
    )
    outcome = analysed(text)
    assert outcome.not_analysed == ()
    assert any("used up" in each.reason or "too many" in each.reason for each in outcome.not_followed)


def test_many_tests_take_nothing_from_the_program(monkeypatch: pytest.MonkeyPatch):
    """Each test of a training framework walks its engine: that ends somewhere, and is told; the program is walked."""
    monkeypatch.setattr(entry_points, "NODES_AT_LEAST", 60)
    monkeypatch.setattr(entry_points, "NODES_PER_MODULE", 0)
    step = "    scaler.scale(model(x)).backward()\n    scaler.step(opt)\n    {}\n"
    tests = "".join(f"def test_{n}(model, x, scaler, opt):\n" + step.format("scaler.update()") for n in range(40))
    program = "def train(model, x, scaler, opt):\n" + step.format("opt.step()")
    sources = Sources([SourceFile("tests/test_engine.py", tests.encode()), SourceFile("train.py", program.encode())])

    outcome = analyse(sources, StaticSettings())

    assert {each.path for each in outcome.not_followed} == {"tests/test_engine.py"}
    assert 0 < len(outcome.not_followed) < 40
    assert all("the budget for the tests is used up" in each.reason for each in outcome.not_followed)
    assert "AMP208" in {each.rule for each in outcome.findings if each.path == "train.py"}


def test_analysis_loads_neither_torch_nor_libcst():
    """Reading the whole reference implementation takes the standard library's parser and nothing heavy."""
    code = (
        "import sys\nfrom verifygate.cli import main\n"
        "assert main(['check', 'reference_impl', '--ignore', 'PERF']) == 0\n"
        "assert not {'torch', 'libcst', 'numpy'} & set(sys.modules), 'loaded'"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert ended.returncode == 0, ended.stdout + ended.stderr
