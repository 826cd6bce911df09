"""Which files are looked at, and how trees are gone through: fast ways give what the plain ways give."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from verifygate.base.cpu_time import OFF, Timings
from verifygate.config.settings import StaticSettings
from verifygate.sources.byte_patterns import Alternatives, _beginning
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static import part_analysis, prefilter
from verifygate.static.analysis import Analysis
from verifygate.static.engine import analyse
from verifygate.static.prefilter import Prefilter
from verifygate.static.registry import load_rules
from verifygate.static.symbols.program import Picked, Program
from verifygate.static.syntax.traversal import LEAVES, children, deeper_than, walk

EVERY_KIND = """
from __future__ import annotations
import a.b as c, d
@decorated
class A(B, metaclass=M):
    x: int = 1
    async def f(self, p, /, q=1, *args, r=2, s, **rest) -> None:
        async with a as b, c: pass
        async for i in j: await k
        return (yield)
def g():
    global x
    x += 1; del x
    nonlocal_ = lambda y: (yield from y)
    try: assert x, "m"
    except (E, F) as e: raise G from e
    else: pass
    finally: pass
    while not a < b <= c: break
    else: continue_ = {**d, 'k': [*l], None: {1, 2}}
    match x:
        case True | None | -1: pass
        case {'k': 1, **others}: pass
        case [1, *_, (2 as y)]: pass
        case C(1, z=2) if z: pass
        case "s": pass
    return f"{x!r:>{w}}" if (n := a[1:2, ...]) else [i for i in j if k for l in m]
"""


def test_trees_are_gone_through_like_the_standard_library_does() -> None:
    tree = ast.parse(EVERY_KIND)
    shared = ast.expr_context | ast.operator | ast.unaryop | ast.boolop | ast.cmpop
    assert list(walk(tree)) == [node for node in ast.walk(tree) if not isinstance(node, shared)]
    assert all(not children(node) for node in walk(tree) if node.__class__ in LEAVES)


@pytest.mark.parametrize(
    "source", [EVERY_KIND, "a", "a,", "*a,", "~~~~~~a", "x = f(-a.b[~c])", 'f"{a:{b}}"', "(\n~\na)"]
)
def test_the_depth_is_that_of_the_deepest_node(source: str) -> None:
    """Also where each letter is a level."""
    depth, level = 0, [ast.parse(source)]
    while level := [child for node in level for child in children(node)]:
        depth += 1
    assert deeper_than(ast.parse(source), depth)
    assert not deeper_than(ast.parse(source), depth + 1)


@pytest.mark.parametrize(
    "code",
    [
        "-" * 30 + "x",
        "f" + "()" * 30,
        "@f" + "()" * 30 + "\ndef g(): 0",
        "[x for x in [y for y in " * 6 + "z" + "]" * 12,
    ],
)
def test_one_line_may_be_deep(code: str) -> None:
    depth, level = 0, [ast.parse(code)]
    while level := [child for node in level for child in children(node)]:
        depth += 1
    assert [deeper_than(ast.parse(code), levels) for levels in range(1, depth + 3)] == [True] * depth + [False] * 2


def test_what_a_pattern_begins_with_is_plain_text_of_every_match() -> None:
    begins = {r"\.back\(": b".back(", r"ab?c": b"a", r"a\w": b"a", r"/ *": b"", r"a b(?<=x)|": b"a b", "x{2}": b""}
    assert {pattern: _beginning(pattern) for pattern in begins} == begins


@pytest.mark.parametrize("pattern", sorted({each for rule in load_rules().values() for each in rule.rule.beside}))
def test_alternatives_find_what_the_pattern_finds(pattern: str) -> None:
    parts = Alternatives(pattern)
    assert "|".join(part.pattern.decode() for part in parts.parts) == pattern
    for text in (
        b"x / (1e-12)",
        b"x[m] = -100000",
        b" 1e5",
        b"x[m] = 1.5e10",
        b"'ab1e9'",
        b"def masked_fill(x):",
        b"torch.load(f)",
        b"BCELoss()",
        b"",
    ):
        assert parts.found_in(text) == bool(re.search(pattern.encode(), text))
        assert set(parts.offsets(text)) >= {each.start() for each in re.finditer(pattern.encode(), text)}


WORK = b"""
import torch

class Work:
    def step(self, batch):
        with torch.autocast("cuda"):
            return self.model(batch).sum()

def build(model):
    return Work(model)
"""
DRIVE = b"""
from work import build

def drive(model, batches, scaler=None):
    work = build(model)
    return [work.step(batch) for batch in batches]
"""


def test_a_selection_changes_nothing_about_what_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """`drive.py` is picked by a word of other rules than PERF101, which may find something in its loop all the same."""
    picked: list[list[str]] = []

    def remembered(program: Program, timings: Timings, versions: Mapping[str, str]) -> Analysis:
        picked.append(list(program.picked))
        return Analysis(program, timings, versions)

    monkeypatch.setattr(part_analysis, "Analysis", remembered)
    for settings in (StaticSettings(), StaticSettings(select=("PERF101",))):
        analyse(Sources([SourceFile("drive.py", DRIVE), SourceFile("work.py", WORK)]), settings)
    assert picked == [["drive.py", "work.py"]] * 2


LIBRARY = b"""
import torch
from torch.cuda.amp import autocast as half

LARGE = -1e9

@half()
def halved(model, batch):
    return model(batch)

def uses(model, batch):
    return halved(model, batch)

def unrelated(model):
    return model.eval()

class Attention(torch.nn.Module):
    def forward(self, x, mask):
        return x.masked_fill(mask, LARGE)

class Narrow(Attention):
    pass

def build():
    return Attention()
"""
LONG = b"\n\ndef noise():\n" + b"    print('a line of many')\n" * 1000


def picker(**files: bytes) -> Prefilter:
    return Prefilter(Sources([SourceFile(f"{name}.py", data) for name, data in files.items()]), load_rules().values())


def only(picked: Picked) -> frozenset[str] | None:
    ((_, names),) = picked.items()
    return names


def test_of_a_large_file_that_does_not_train_only_some_definitions_are_looked_at() -> None:
    """By the name that an import gives to autocast; with what mentions a function; with what derives from a class."""
    assert only(picker(library=LIBRARY + LONG).named()) == {"halved", "uses"}
    beside = picker(library=LIBRARY + LONG).beside(lambda each: each.rule.code == "AMP403")
    assert only(beside) == {"Attention", "Narrow"}


@pytest.mark.parametrize(
    "more",
    [
        b"\n\ndef train(loss):\n    loss.backward()\n",
        b"\n\nCONTEXT = torch.autocast('cuda')\n",
        b"\n\nTEXT = '''\ndef shown():\n'''\n",
    ],
    ids=["trains", "AMP outside of definitions", "a string with code"],
)
def test_a_file_is_looked_at_whole_where_definitions_cannot_be_told_apart(more: bytes) -> None:
    assert only(picker(library=LIBRARY + LONG + more).named()) is None


def test_a_small_file_is_looked_at_whole() -> None:
    assert only(picker(library=LIBRARY).named()) is None


@pytest.mark.parametrize(("dtype", "looked_at"), [(b"float16", ["constants.py", "run.py"]), (b"bfloat16", ["run.py"])])
def test_what_stands_beside_amp_is_left_alone_where_it_cannot_matter(dtype: bytes, looked_at: list[str]) -> None:
    """Without a float16 region no constant is too large: the file need not be parsed."""
    constants = b"import torch\n\ndef mask(x, m):\n    return x.masked_fill(m, -1e9)\n"
    run = b"import torch\n\ndef run(model, x):\n    with torch.autocast('cuda', torch.%s):\n        model(x)\n" % dtype
    sources = Sources([SourceFile("constants.py", constants), SourceFile("run.py", run)])
    assert (
        list(
            part_analysis._analysis(
                Prefilter(sources, load_rules().values()), sources, OFF, lambda _: {}
            ).program.picked
        )
        == looked_at
    )


@pytest.mark.parametrize(
    ("body", "matters"),
    [
        (b"return x.masked_fill(m, -1e9)", True),
        (b"x[m] = -1e9", True),
        (b"x[m] = -1e9  # or less", True),
        (b"return x.masked_fill(m, -1E+09)", True),
        (b"return x.masked_fill(m, -1_000_000)", True),
        (b"return x.masked_fill(m, -2**32 + 1)", True),
        (b"return x.masked_fill(m, -10 ** 9)", True),
        (b"return x.masked_fill(m, v)  # -1e9", False),
        (b"""'''Not -1e9.'''\n    return x.masked_fill(m, v)""", False),
        (b"x[m] = v * self.at[1]\n    y = 1e9", False),
        (b"return x.masked_fill(m, float('1e9'))", False),
        (b"y = int(1e30)\n    return x.masked_fill(m, v)", False),
        (b"y = torch.tensor(-1e9)\n    x[m] = y", False),
        (b"y = 1e9\n    x[m] = y", True),
        (b"y = 1e9\n    x['m'] = y", False),
        (b"y = 1e9\n    z: list[int] = None", False),
    ],
)
def test_large_constants_are_looked_for_in_code_that_fills(body: bytes, matters: bool) -> None:
    data = b"import torch\n\ndef f(x, m, v):\n    %s\n" % body
    picked = picker(constants=data, run=WORK).beside(lambda each: each.rule.code == "AMP403")
    assert list(picked) == ["constants.py"] * matters


@pytest.mark.parametrize(
    ("imports", "matters"),
    [
        (b"import torch", True),
        (b"import pytorch_lightning as pl", True),
        (b"from x import (\n    nn,\n    torch,\n)", True),
        (b"import \\\n    torch", True),
        (b"from\ttorch import nn", True),
        (b"import jax  # not torch", True),
        (b"import jax\nNAME = 'torch'", False),
    ],
)
def test_large_constants_matter_in_files_that_import_something_of_torch(imports: bytes, matters: bool) -> None:
    data = imports + b"\n\ndef f(x, m):\n    return x.masked_fill(m, -1e9)\n"
    picked = picker(constants=data, run=WORK).beside(lambda each: each.rule.code == "AMP403")
    assert list(picked) == ["constants.py"] * matters


@pytest.mark.parametrize("fills", [True, False])
def test_a_function_by_name_of_a_mask_matters_where_it_fills(fills: bool) -> None:
    inner = b"return x.masked_fill(m, v)" if fills else b"x[m] = v"
    data = b"import torch\n\ndef fill(x, m, v):\n    %s\n\ndef other(x):\n    x.masked_fill()\n" % inner
    picked = picker(constants=data, run=WORK).beside(lambda each: each.rule.code == "AMP403")
    assert list(picked) == ["constants.py"] * fills


@pytest.mark.parametrize(
    ("library", "looked_at"),
    [
        (b"from torch import \\\n    autocast as half\ndef f(): half()", {"f"}),
        (b"from torch import (  # (both)\n    autocast as half,\n)\ndef f(): half()", {"f"}),
        (b"import apex.amp as mixed\ndef f(): mixed.initialize()", {"f"}),
        (b"import torch\namp = torch.cuda.amp\ndef f(): amp.custom_fwd()", {"f"}),
        (b"from torch import autocast as half\nCONTEXT = half()\ndef f(): CONTEXT", {"f"}),
        (b"from torch import autocast as half\nALL = [\n    half,\n]\ndef f(): ALL", {"f"}),
        (b"LOADERS = {\n    'a': DataLoader([]),\n}\ndef f(): LOADERS", {"f"}),
        (b"C = None\ndef s():\n    global C\n    C = torch.autocast()\ndef f(): C", {"s", "f"}),
        (b"class A:\n    x = DataLoader([])\nclass B(  # a: b\n    A,\n):\n    y = 0", {"A", "B"}),
        (b"class A:\n    def r(self): return torch.autocast()\nclass B:\n    x = A()", {"A", "B"}),
        (b"class A:\n    def r(self):\n        with autocast():\n            yield\nclass B:\n    x = A()", {"A", "B"}),
        (b"class A(autocast):\n    x = 0\ndef f():\n    A()", {"A", "f"}),
        (b"class A:\n    def r(self):\n        with autocast(): m()\nclass B:\n    x = A()", {"A"}),
    ],
)
def test_what_a_word_is_called_is_followed(library: bytes, looked_at: set[str]) -> None:
    """Through imports in any layout, names at the top level, `global`, long lists of bases, and regions handed out."""
    assert only(picker(library=library + LONG).named()) == looked_at


@pytest.mark.parametrize(
    ("code", "library", "looked_at"),
    [
        ("AMP404", b"L = nn.BCELoss\ndef f(): L()\ndef g(): nn.BCELoss()", {"f", "g"}),
        ("AMP404", b"from x import binary_cross_entropy as bce\ndef f(): bce()", {"f"}),
        ("AMP402", b"def e(): return 1e-12\ndef f(x): log(x + e())\ndef g(x): log(x + 1e-12)", {"e", "f", "g"}),
        ("AMP402", b"class A:\n    e = 1e-9\nclass B(A):\n    y = log(e)\ndef g(x): log(x + 1e-12)", {"A", "B", "g"}),
    ],
)
def test_what_belongs_together_is_followed_though_others_hold_all_of_it(
    code: str, library: bytes, looked_at: set[str]
) -> None:
    assert only(picker(library=library + LONG, run=WORK).beside(lambda each: each.rule.code == code)) == looked_at


@pytest.mark.parametrize(
    ("make", "use"),
    [
        (b"def region():\n    return torch.autocast('cuda')\n", b"from work import region as half\ndef f(): half()\n"),
        (
            b"def region():\n    return torch.autocast('cuda')\n",
            b"from work \\\n    import region\ndef f(): region()\n",
        ),
        (b"region = torch.autocast('cuda')\n", b"from work import region\ndef f():\n    with region: pass\n"),
    ],
)
def test_a_region_of_another_file_is_entered_by_any_name(make: bytes, use: bytes) -> None:
    assert list(picker(work=make, drive=use).named()) == ["drive.py", "work.py"]


@pytest.mark.parametrize(
    ("words", "looked_at"),
    [
        (b"self.scaler = torch.amp.GradScaler()", ["drive.py", "heir.py", "work.py"]),
        (b"with torch.autocast('cuda'): loss = f()\n        loss.backward()", ["drive.py", "heir.py", "work.py"]),
        (b"with torch.autocast('cuda', enabled=False): return x.float()", ["work.py"]),
    ],
    ids=["trains", "runs a backward", "holds a region"],
)
def test_what_derives_from_a_class_that_trains_is_looked_at(words: bytes, looked_at: list[str]) -> None:
    """Layers that derive from one with a region in it are legion in some libraries, and none of them matters."""
    work = b"class Base:\n    def f(self, x):\n        " + words + b"\n"
    heir = b"from work import Base\nclass Heir(Base):\n    def g(self): pass\n"
    drive = b"from heir import Heir\nclass Late(Heir):\n    def g(self): pass\n"
    assert list(picker(work=work, heir=heir, drive=drive).named()) == looked_at


@pytest.mark.parametrize(
    "more",
    [
        b'\nA = """\n\\"""\n"""\nC = torch.autocast("cuda")\nB = """\n\\"""\n"""\n',
        b"\ndef a(): return '\"\"\"'\nC = torch.autocast('cuda')\nB = '\"\"\"'\n",
        b"\ndef a():\n    table = [\n1,\n2]\n    return DataLoader(table)\n",
    ],
    ids=["escaped quotes", "quotes in strings", "a table that is not indented"],
)
def test_unusual_layouts_hide_nothing(more: bytes) -> None:
    assert only(picker(library=b"import torch\n" + more + LONG).named()) is None


def test_a_rule_is_idle_where_no_file_names_what_it_is_about():
    """AMP701 has no words of its own: what it looks for beside AMP code tells."""

    def idle(code: str) -> set[str]:
        picker = Prefilter(Sources([SourceFile("train.py", code.encode())]), load_rules().values())
        picker.named()
        picker.beside(lambda _: True)
        return set(picker.idle)

    nothing = idle("import torch\n")
    scaler = idle("import torch\nscaler = torch.amp.GradScaler()\n")
    weights = idle("import torch\nmodel.to(torch.bfloat16)\noptimizer = torch.optim.AdamW(model.parameters())\n")

    assert {"AMP201", "AMP701", "KEY103"} <= nothing
    assert "AMP201" not in scaler
    assert {"AMP101", "AMP701"} <= scaler
    assert "AMP701" not in weights
    assert "AMP201" in weights


def test_a_table_is_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand lines of one statement that name AMP: each is looked at once, whoever asks for its names.

    A table of torch's own tests took 44 s of CPU time, at 0.3 s for its parse.
    """
    looked: list[int] = []
    pattern = prefilter._BOUND
    counting = SimpleNamespace(match=lambda *at: looked.append(at[1]) or pattern.match(*at))
    monkeypatch.setattr(prefilter, "_BOUND", counting)
    rows = "".join(f"    row(name{number}=autocast, other=name{number - 1}),\n" for number in range(2_000))
    text = f"from torch import autocast\n\ntable = [\n{rows}]\n\n\ndef used():\n    return table\n"
    file = SourceFile("table.py", text.encode())
    assert len(file.data) > prefilter._SMALL
    prefilter._Definitions(file)._uses(lambda _: True, [text.index("    row")])
    assert looked
    assert len(looked) == len(set(looked))


def test_words_are_found_alike_by_search_and_in_the_index() -> None:
    data = b"a ab a.b _a a\nb(a)\n"
    words = prefilter._Words(data)
    searched = {word: list(words.offsets(word)) for word in (b"a", b"b", b"ab", b"c")}
    words._searches = prefilter._PAYS
    assert {word: list(words.offsets(word)) for word in searched} == searched
    assert searched[b"a"] == [0, 5, 12, 16]


def test_a_line_is_looked_at_once_however_often_it_names_amp(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of 200 kB took 15 s: it was matched as a whole for each of its words."""
    looked: list[int] = []
    pattern = prefilter._MADE
    counting = SimpleNamespace(match=lambda *at: looked.append(at[1]) or pattern.match(*at))
    monkeypatch.setattr(prefilter, "_MADE", counting)
    file = SourceFile("line.py", b"a = [" + b"autocast, " * 50 + b"]\nb = GradScaler\n")
    assert list(prefilter._amp_names(file))[:2] == [b"a", b"b"]
    assert len(looked) == 2
