"""A run that died is told from one that refused: real errors, raised in real files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verifygate.execution.endings import Ending, Kind, Raised, classed
from verifygate.instrument.raised import by_statement, causes, statement


def ended(code: str, root: Path) -> Ending:
    """How code that lies in a project's file ends."""
    file = root / "train.py"
    file.write_text(code, encoding="utf-8")
    try:
        exec(compile(code, str(file), "exec"), {"__name__": "train"})  # noqa: S102
    except Exception as error:
        trace, step = [], error.__traceback__
        while step is not None:
            trace.append((step.tb_frame.f_code.co_filename, step.tb_lineno))
            step = step.tb_next
        return classed(Raised(type(error).__name__, str(error), trace, by_statement(error), causes(error)), root)
    raise AssertionError("the code ended well")


HOLDER = "class Tracker:\n    pass\n"


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (f"{HOLDER}Tracker().log_scalar(1)", Kind.FAULT, "give `Tracker` the attribute `log_scalar`"),
        ("import math\nmath.no_such(1)", Kind.FAULT, "`module 'math' has no attribute 'no_such'`"),
        ("env = {}\nenv['train_data']", Kind.FAULT, "store the key 'train_data'"),
        ("scaled", Kind.FAULT, "define or import `scaled`"),
        ("def f():\n    print(x)\n    x = 1\nf()", Kind.FAULT, "give `x` a value"),
        ("len(3)", Kind.FAULT, "correct what raises TypeError (train.py:1)"),
        ("int(float('inf'))", Kind.FAULT, "OverflowError"),
        ("from json import no_such", Kind.FAULT, "`json` has no `no_such`"),
        ("raise ValueError(f'{missing}')", Kind.FAULT, "define or import `missing`"),
        ("try:\n    {}['a']\nexcept KeyError:\n    raise", Kind.FAULT, "store the key 'a'"),
        ("raise KeyError('no such precision')", Kind.REFUSAL, "message"),
        ("raise TypeError('a loss is a tensor')", Kind.REFUSAL, "message"),
        ("assert 1 > 2, 'the loss is not finite'", Kind.REFUSAL, "message"),
        ("try:\n    {}['a']\nexcept KeyError as e:\n    raise SystemError('no a') from e", Kind.REFUSAL, "message"),
        ("import json\njson.loads('{')", Kind.GUARD, "hands over"),
        ("raise MemoryError", Kind.MACHINE, "memory"),
        ("import no_such_package", Kind.MACHINE, "install what has the module `no_such_package`"),
        ("open('/no/such/file')", Kind.MACHINE, "a file or a connection"),
        ("raise FileNotFoundError('write a configuration first')", Kind.REFUSAL, "message"),
        ("import socket\nsocket.create_connection(('127.0.0.1', 9))", Kind.MACHINE, "a file or a connection"),
        (
            "try:\n    open('/no/a')\nexcept OSError as e:\n    raise RuntimeError('no data') from e",
            Kind.MACHINE,
            "no data",
        ),
        ("try:\n    open('/no/a')\nexcept OSError:\n    raise RuntimeError('no data')", Kind.REFUSAL, "message"),
        ("try:\n    open('/no/a')\nexcept OSError as e:\n    e.no_such", Kind.FAULT, "no_such"),
        ("raise RuntimeError('No CUDA GPUs are available')", Kind.REFUSAL, "message"),
    ],
)
def test_an_error_is_classed_by_who_raised_it(tmp_path: Path, code: str, kind: Kind, words: str):
    ending = ended(code, tmp_path)

    assert (ending.kind, words in ending.remedy) == (kind, True), ending


def test_a_module_of_the_projects_own_that_is_missing_is_its_fault(tmp_path: Path):
    (tmp_path / "src" / "mine").mkdir(parents=True)
    (tmp_path / "src" / "mine" / "__init__.py").write_text("", encoding="utf-8")

    assert ended("import mine.other", tmp_path).kind is Kind.FAULT


def test_what_a_library_raises_by_name_is_its_guard_and_a_missing_attribute_is_none(tmp_path: Path):
    package = tmp_path / "site-packages" / "library.py"
    package.parent.mkdir()
    here, there = (str(tmp_path / "train.py"), 3), (str(package), 9)

    def kind(error: str, *, raised: bool) -> Kind:
        return classed(Raised(error, "message", [here, there], raised), tmp_path).kind

    assert kind("KeyError", raised=True) is Kind.GUARD
    assert kind("KeyError", raised=False) is Kind.FAULT
    assert kind("AttributeError", raised=True) is Kind.FAULT  # as `torch.nn.Module.__getattr__` does
    assert kind("RuntimeError", raised=False) is Kind.GUARD


def test_a_function_that_pytest_takes_for_a_test_is_told(tmp_path: Path):
    """As one that a test file imports, and that is called `test_...`: it asks for fixtures that nobody wrote."""
    message = "('model', <FixtureRequest for <Function test_fit>>)"
    ending = classed(Raised("FixtureLookupError", message, [], by_statement=True), tmp_path)
    how = "write a fixture `model`, or keep pytest from collecting `test_fit`, if that is no test"
    assert (ending.is_fault, ending.remedy) == (False, how)


def test_an_attribute_that_torch_lacks_for_a_device_is_the_machines(tmp_path: Path):
    inside = (str(Path(sys.prefix) / "site-packages" / "torch" / "cuda" / "memory.py"), 9)

    message = "module 'torch._C' has no attribute '_cuda_x'"
    trace = [(str(tmp_path / "a.py"), 3), inside]
    ending = classed(Raised("AttributeError", message, trace, by_statement=False), tmp_path)

    assert ending.kind is Kind.MACHINE


BY_HAND = """\
class Shape:
    def __init__(self, heads, groups):
        self.heads, self.groups, self.path = heads, groups, "/home/somebody/data"

    @property
    def asked(self):
        raise SystemError("looking at values runs nothing of the project")


def build(shape, name="bf16"):
    assert (
        shape.heads % shape.groups == 0
        and shape.asked
    ){message}


build(Shape(2, 6))
"""


@pytest.mark.parametrize("message", ["", ', "choose"'])
def test_a_failed_statement_is_told_with_its_values(tmp_path: Path, message: str):
    """Numbers that are stored; not a property, nor a path."""
    file = tmp_path / "train.py"
    file.write_text(BY_HAND.replace("{message}", message), encoding="utf-8")
    with pytest.raises(AssertionError) as raised:
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), {"__name__": "train"})  # noqa: S102
    told = statement(raised.value, str(tmp_path))
    assert told["text"].startswith("assert shape.heads % shape.groups == 0 and shape.asked")
    assert (Path(told["path"]).name, told["values"]) == ("train.py", ["shape.heads = 2", "shape.groups = 6"])
    assert statement(raised.value, "/elsewhere") == {}
