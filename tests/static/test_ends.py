"""`check` ends, and says where it stopped: programs that grow are not searched without bound, and never silently."""

from __future__ import annotations

import pytest

from verifygate.base.depth_first import depth_first
from verifygate.config.rule_selection import RuleSelection
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import AnalysisResult, analyse
from verifygate.static.facts import tensor_dtypes
from verifygate.static.facts.cut_searches import CUT_SHORT
from verifygate.static.facts.forward_passes import ForwardPasses
from verifygate.static.lowering import builder
from verifygate.static.paths import exploration
from verifygate.static.values import demand
from verifygate.static.values.allowance import Allowance
from verifygate.static.values.containers import Containers

LOOP = """import torch


def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    SETUP
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        BODY
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


train(torch.nn.Linear(4, 4), torch.optim.AdamW(list()), open("rows"))
"""


def loop(*body: str, setup: tuple[str, ...] = ()) -> str:
    """A training loop with some statements in it, and others before it."""
    return LOOP.replace("SETUP", "\n    ".join(setup) or "pass").replace("BODY", "\n        ".join(body) or "pass")


def analysed(files: dict[str, str] | str) -> AnalysisResult:
    texts = {"train.py": files} if isinstance(files, str) else files
    return analyse(Sources([SourceFile(path, text.encode()) for path, text in texts.items()]), RuleSelection())


def told(result: AnalysisResult) -> list[tuple[str, int, str]]:
    return [(each.path, each.line, each.reason) for each in result.not_followed]


def counted(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[int]:
    """How often a method is called, from here on: in the only element of the list."""
    calls, method = [0], getattr(owner, name)

    def counting(self: object, *given: object, **named: object) -> object:
        calls[0] += 1
        return method(self, *given, **named)

    monkeypatch.setattr(owner, name, counting)
    return calls


def growth(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, program, size: int) -> float:
    """How many times as often a method is called for a program of twice the size."""
    calls = counted(monkeypatch, owner, name)
    costs = []
    for each in (size, 2 * size):
        calls[0] = 0
        analysed(program(each))
        costs.append(calls[0])
    return costs[1] / costs[0]


def test_a_name_that_is_bound_in_a_circle_is_settled_once(monkeypatch):
    """Each of many `loss = loss + ...` would go through all the others, from whichever of them is asked about."""
    grown = growth(
        monkeypatch, demand.Demand, "answer", lambda n: loop(*(f"loss = loss + {at}" for at in range(n))), 100
    )
    assert grown < 2.5


def test_a_number_is_folded_once_for_each_name(monkeypatch):
    """`y1 = y0 + y0`, `y2 = y1 + y1`, ... is as many additions as there are lines, and not two to the power of that."""
    names = tuple(f"y{at} = y{at - 1} + y{at - 1}" for at in range(1, 30))
    calls = counted(monkeypatch, demand.Demand, "answer")
    analysed(loop("loss = loss / (y29 + 1e-8)", setup=("y0 = 1", *names)))
    assert calls[0] < 20_000


def test_a_dtype_is_found_once_on_each_way(monkeypatch):
    names = tuple(f"y{at} = y{at - 1} * y{at - 1}" for at in range(1, 12))
    calls = counted(monkeypatch, tensor_dtypes.TensorDtypes, "_found")
    analysed(loop("y0 = batch", *names, "loss = loss / (y11 + 1e-8)"))
    assert 0 < calls[0] < 20_000


def test_a_search_that_is_cut_short_is_told_with_its_place(monkeypatch):
    monkeypatch.setattr(demand, "MAX_DEPTH", 8)
    chain = "def f0(x):\n    return x\n\n\n"
    chain += "".join(f"def f{at}(x):\n    return f{at - 1}(x)\n\n\n" for at in range(1, 12))
    result = analysed(loop("x = f11(model)", "x.half()").replace("def train", chain + "def train"))
    assert CUT_SHORT in [each.reason for each in result.not_followed]
    assert all(path == "train.py" and line > 1 for path, line, reason in told(result) if reason == CUT_SHORT)


def test_a_program_that_no_search_cuts_short_is_told_nothing():
    assert CUT_SHORT not in [each.reason for each in analysed(loop()).not_followed]


def test_the_long_searches_together_have_a_budget(monkeypatch):
    """Past it each search is a short one: a hundred knots cost no more than a few."""
    monkeypatch.setattr(demand, "MAX_IN_ALL", 0)
    functions = "def f0(x):\n    return x\n\n\n"
    for at in range(1, 16):
        functions += f"def f{at}(x):\n    return f{at - 1}(x) if x else f{at - 1}(x).half()\n\n\n"
    text = loop("x = f15(batch)", "y = f15(x)", "z = f14(y)").replace("def train", functions + "def train")
    assert CUT_SHORT in [each.reason for each in analysed(text).not_followed]


def test_an_allowance_is_for_one_search_and_for_all_long_ones():
    allowance = Allowance(most=10, in_all=6, few=4)
    allowance.begin()
    assert [allowance.step() for _ in range(11)].count(True) == 9  # six steps past the fourth are left for all
    allowance.begin()
    assert [allowance.step() for _ in range(6)].count(True) == 4
    assert allowance.is_cut


def test_a_knot_of_calls_is_told_and_not_walked_to_its_end(monkeypatch):
    """Calls that lead into one another cost, though what they are lowered to is collapsed again."""
    monkeypatch.setattr(builder, "MAX_EMITTED", 100)
    size = 6
    functions = "".join(
        f"def f{at}(loss, scaler, k):\n"
        + "".join(f"    if k > {other}:\n        f{other}(loss, scaler, k - {other})\n" for other in range(size))
        + "    scaler.scale(loss).backward()\n\n\n"
        for at in range(size)
    )
    result = analysed(loop("f0(loss, scaler, 3)").replace("def train", functions + "def train"))
    reasons = [reason for _, _, reason in told(result)]
    assert "train has too many paths: the functions that it calls are explored instead" in reasons


def test_a_loop_of_very_many_optimizers_is_told(monkeypatch):
    monkeypatch.setattr(exploration, "MAX_OPTIMIZERS", 3)
    several = tuple(f"o{at} = torch.optim.SGD(batches[{at}].parameters())" for at in range(5))
    result = analysed(loop(*(f"scaler.step(o{at})" for at in range(5)), setup=several))
    places = [(path, line) for path, line, reason in told(result) if "has too many paths" in reason]
    assert ("train.py", 4) in places
    assert not [each for each in result.findings if each.rule.startswith("AMP2") and each.certainty == "certain"]


def test_a_chain_of_calls_may_be_as_long_as_it_likes():
    """Thousands of functions that call each other in a row are no recursion of as many levels."""
    size = 8_000
    known: dict[int, bool] = {}

    def look(at):
        known[at] = False
        if at < size:
            yield at + 1
        known[at] = at == size or known[at + 1]

    depth_first(0, known, look)
    assert known[0]
    assert len(known) == size + 1


def test_files_that_import_everything_of_each_other(monkeypatch):
    """Whether one of them binds a name is looked up once for each file, and not along every way between them."""

    def program(size):
        stars = "".join(f"from m{at} import *\n" for at in range(size))
        files = {f"m{at}.py": f"import torch\n{stars}\n\ndef f{at}(x):\n    return x\n" for at in range(size)}
        return files | {"train.py": "from m0 import *\n" + loop("loss = f0(loss) + nowhere(loss)")}

    assert growth(monkeypatch, SourceFile, "may_bind", program, 6) < 9


def test_a_large_dict_is_read_once(monkeypatch):
    """A dict of more entries than anybody looks into by one is given up at the first one too many."""

    def program(size):
        return "CFG = {" + ", ".join(f'"k{at}": {at}' for at in range(size)) + "}\n" + loop("y = CFG['k3'] + CFG['no']")

    assert growth(monkeypatch, Containers, "entry", program, 200) < 1.1


def test_modules_in_modules_are_looked_into_once(monkeypatch):
    calls = counted(monkeypatch, ForwardPasses, "_elements")
    layer = "        self.y{} = torch.nn.Sequential(self.y{}, self.y{})\n"
    layers = "".join(layer.format(at, at - 1, at - 1) for at in range(1, 16))
    made = (
        "class Net(torch.nn.Module):\n    def __init__(self, inner):\n        super().__init__()\n"
        f"        self.y0 = inner\n{layers}\n    def forward(self, x):\n        return self.y15(x)\n\n\n"
    )
    text = loop(setup=("model = Net(torch.nn.Linear(2, 2))",)).replace("def train", made + "def train")
    analysed(text)
    assert calls[0] < 2_000
