"""What an analysis holds: small trees, and of large sources no text and no answers that it is done with."""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import verifygate
from verifygate.base.cpu_time import OFF
from verifygate.base.errors import UsageError
from verifygate.config.rule_selection import RuleSelection
from verifygate.sources import file, tree
from verifygate.sources.discovery import read_sources
from verifygate.sources.tree import Sources
from verifygate.static import part_analysis
from verifygate.static.analysis_result import AnalysisResult
from verifygate.static.engine import Means, analyse
from verifygate.static.prefilter import Prefilter
from verifygate.static.registry import load_rules
from verifygate.static.symbols.program import Program
from verifygate.static.syntax.compaction import slim
from verifygate.static.syntax.traversal import deeper_than, walk
from verifygate.static.values.evaluator import Evaluator

TREE = {
    "train.py": """
import torch
from net import Net

def train(batches):
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    scaler = torch.amp.GradScaler()
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(batch)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
""",
    "net.py": """
import torch

class Net(torch.nn.Module):
    def forward(self, batch):
        return torch.log(batch.clamp(min=1e-8)).sum()  # what rules look for beside AMP code
""",
    "other.py": "def nothing_to_do_with_it():\n    return 1\n",
    "settings.py": "class Settings:\n    def fill(self, name):\n        setattr(self, name, 1)\n",
}


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    for name, text in TREE.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return read_sources(tmp_path, ["."])


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take any project for a large one, in which too much is left over to be parsed after all."""
    monkeypatch.setattr(tree, "LARGE_BYTES", 1)
    monkeypatch.setattr(part_analysis, "SYNTAX_CHECK_BYTES", 0)


@pytest.fixture
def uncollected() -> Iterator[None]:
    """As in a check: what is in a circle stays."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def checked(sources: Sources) -> AnalysisResult:
    return analyse(sources, RuleSelection(), means=Means(lets_go=True))


def held(sources: Sources) -> list[str]:
    return [file.path for file in sources if "data" in vars(file)]


@pytest.mark.usefixtures("large")
def test_text_is_let_go_of(sources: Sources, monkeypatch: pytest.MonkeyPatch):
    """All that is left is what is searched again and again for names, and the file that was read again last."""
    monkeypatch.setattr(file, "HELD_AGAIN_BYTES", 1)

    found = checked(sources)

    assert "AMP201" in {finding.rule for finding in found.findings}
    assert held(sources) == ["net.py", "settings.py"]


@pytest.mark.usefixtures("large")
def test_what_is_read_again_is_held_until_other_files_are(sources: Sources, monkeypatch: pytest.MonkeyPatch):
    checked(sources)
    assert held(sources) == ["net.py", "settings.py", "train.py"]

    monkeypatch.setattr(file, "HELD_AGAIN_BYTES", sum(len(TREE[name]) for name in ("other.py", "train.py")))
    assert [file.data for file in sources.each(["other.py"])] == [TREE["other.py"].encode()]

    assert held(sources) == ["other.py", "settings.py", "train.py"]


def test_a_small_project_is_held(sources: Sources):
    checked(sources)

    assert held(sources) == sorted(TREE)


@pytest.mark.usefixtures("large")
def test_whoever_needs_the_sources_afterwards_has_them(sources: Sources):
    analyse(sources, RuleSelection())

    assert held(sources) == sorted(TREE)


def test_letting_go_changes_no_answer(tmp_path: Path, sources: Sources, monkeypatch: pytest.MonkeyPatch):
    plain = checked(sources)
    monkeypatch.setattr(tree, "LARGE_BYTES", 1)

    assert checked(read_sources(tmp_path, ["."])) == plain


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("change", [lambda file: file.write_text("x = 1\n"), Path.unlink])
def test_a_file_that_changes_meanwhile_is_no_answer(tmp_path: Path, sources: Sources, change):
    checked(sources)
    file = sources.get("other.py")
    assert file is not None
    change(tmp_path / "other.py")

    with pytest.raises(UsageError, match=r"other\.py: has changed while it was checked \(check again\)"):
        file.data  # noqa: B018 - asked for


@pytest.mark.usefixtures("uncollected")
def test_the_answers_by_which_files_were_picked_are_gone(sources: Sources):
    """They are a second of each frame and value, and hold each other."""
    before = {id(each) for each in evaluators()}  # of other tests, which nobody collected

    analysis = part_analysis._analysis(Prefilter(sources, load_rules().values()), sources, OFF, lambda _: {})

    assert analysis.program.picked.keys() >= {"net.py", "train.py"}
    assert [each for each in evaluators() if id(each) not in before] == [analysis.evaluator]


def evaluators() -> list[Evaluator]:
    return [each for each in gc.get_objects() if type(each) is Evaluator]  # isinstance would ask proxies, which warn


def sizes(tree: ast.AST) -> int:
    """The bytes of a tree's nodes with what only they have: dicts, empty lists, and large numbers."""
    found: dict[int, object] = {}
    for node in walk(tree):
        found[id(node)] = node
        found |= {id(each): each for each in gc.get_referents(node) if each.__class__ is dict}
        held = (getattr(node, name) for name in (*node._fields, *node._attributes))
        found |= {id(each): each for each in held if each.__class__ in (int, list)}
    return sum(map(sys.getsizeof, found.values()))


@pytest.mark.parametrize(
    "path", sorted(Path(verifygate.__file__).parent.glob("static/*.py")), ids=lambda path: path.stem
)
def test_a_slim_tree_is_the_same_tree(path: Path):
    code = path.read_bytes()
    plain, slimmed = ast.parse(code), ast.parse(code)

    assert not slim(slimmed, 250)
    assert ast.dump(slimmed, include_attributes=True) == ast.dump(plain, include_attributes=True)
    assert ast.unparse(slimmed) == ast.unparse(plain)
    assert sizes(slimmed) < 0.55 * sizes(plain)


def test_a_slim_node_is_of_the_kind_that_it_was():
    plain, slimmed = (ast.parse("call(*many, key=[], **all)[1:] if not yes else (lambda: None)") for _ in range(2))
    slim(slimmed, 250)

    assert [each.__class__ for each in walk(slimmed)] == [each.__class__ for each in walk(plain)]
    assert all(isinstance(each, each.__class__) for each in walk(slimmed))
    match slimmed.body:
        case [ast.Expr(value=ast.IfExp(test=ast.UnaryOp(operand=ast.Name(id="yes"))))]:
            pass
        case _:
            pytest.fail("no pattern matches")
    assert compile(slimmed, "slim", "exec").co_names == ("yes", "call", "many", "all")


@pytest.mark.parametrize(
    "code", ["", "x", "f(a)[b]", "-" * 30 + "x", "[x for x in [y for y in z]]", "def f(*, a=1): 0"]
)
def test_slimming_tells_how_deep_a_tree_is(code: str):
    levels = range(1, 40)
    assert [slim(ast.parse(code), each) for each in levels] == [deeper_than(ast.parse(code), each) for each in levels]


def test_a_project_has_slim_trees(sources: Sources):
    """Also of definitions that are parsed when somebody looks into them."""
    program = Program(sources, {"net.py": frozenset()})
    module = program.module("net.py")
    assert module is not None
    made = module.tree.body[-1]
    assert isinstance(made, ast.ClassDef)
    assert made.body

    assert sizes(made) < 0.55 * sizes(ast.parse(TREE["net.py"]).body[-1])
