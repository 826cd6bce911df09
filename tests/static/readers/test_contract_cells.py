"""The contract off the machine: its cells are right where labels say what is right, and no finding contradicts one."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "golden"))
sys.path.insert(0, str(Path(__file__).parents[1] / "machine"))

from net import kept
from run_text import MAIN, program_of
from units import Unit, units

from verifygate.config.model_files import ModelFile
from verifygate.config.rule_selection import RuleSelection
from verifygate.config.settings import StaticSettings
from verifygate.model.precision_contract import Aspect, PrecisionContract
from verifygate.sources.discovery import read_sources
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse
from verifygate.static.machine.libraries import LIBRARIES, libraries_for
from verifygate.static.machine.programs import Run, runs_of
from verifygate.static.readers.all_readers import violations
from verifygate.static.readers.contract_cells import FOLLOWED, Cell, cells
from verifygate.static.readers.filled_contract import filled
from verifygate.static.symbols.program import Program

FOUND3 = Path(__file__).parents[2] / "golden/cases/found3"
HALVES = frozenset({"float16", "bfloat16"})
LABELLED = [
    (entry["input"], cell)
    for entry in json.loads((FOUND3 / "expect.json").read_text("utf-8"))
    for cell in entry.get("cells", ())
    if cell["row"] in (Aspect.WEIGHTS, Aspect.COMPUTE)
]
NOT_RIGHT = {
    "contract/precision_that_a_helper_returns.py": "no model of Fabric, which enters the region",
    "contract/four_bits_are_no_eight.py": "no model of TransformerEngine, whose products are in four bits",
}


def runs_in(sources: Sources) -> list[Run]:
    paths = [file.path for file in sources if file.path.endswith(".py")]
    return list(runs_of(Program(sources, {file.path: None for file in sources}), paths, LIBRARIES))


def of_text(text: str) -> list[Cell]:
    return cells(runs_of(program_of("import argparse\nimport torch\nfrom torch import nn\n" + text), [MAIN], LIBRARIES))


def said(found: list[Cell], aspect: Aspect) -> str:
    """A row as a label reads it."""
    values = [" or ".join(sorted(each.dtypes)) or "not followed" for each in found if each.aspect is aspect]
    return "; ".join(dict.fromkeys(values)) or "not followed"


@pytest.mark.parametrize(("name", "label"), LABELLED, ids=[f"{name}-{cell['row']}" for name, cell in LABELLED])
def test_labelled_cell(name: str, label: dict[str, str]) -> None:
    path = FOUND3 / name
    sources = read_sources(path, ["."]) if path.is_dir() else read_sources(path.parent, [path.name])
    row = said(cells(runs_in(sources)), Aspect(label["row"]))
    is_right = re.search(label.get("says", ""), row) is not None and not re.search(label.get("not", "(?!)"), row)
    assert is_right is (name not in NOT_RIGHT or label["row"] != Aspect.COMPUTE), row


STEP = "net = nn.Linear(2, 2).half()\ntorch.optim.SGD(net.parameters(), lr=0.1).step()"
BACKWARD = "nn.functional.mse_loss(nn.Linear(2, 2)(torch.ones(2, 2)), torch.ones(2, 2)).backward()"
BY_OPTION = """
parser = argparse.ArgumentParser()
parser.add_argument("--low", action="store_true")
args = parser.parse_args()
if args.low:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        pass
"""


@pytest.mark.parametrize(
    ("text", "aspect", "value", "condition"),
    [
        (STEP, "weights", "float16", ""),
        (STEP, "gradients", "float16", ""),
        ("with torch.autocast('cuda', dtype=torch.bfloat16):\n    pass", "compute", "bfloat16", ""),
        ("with torch.no_grad(), torch.autocast('cuda'):\n    pass", "evaluation", "float16", ""),
        (BACKWARD, "loss", "float32", ""),
        ("torch.save(nn.Linear(2, 2).bfloat16().state_dict(), 'a')", "checkpoint", "bfloat16", ""),
        (BY_OPTION, "compute", "bfloat16", "args.low"),
    ],
)
def test_a_cell_is_what_its_event_says(text: str, aspect: str, value: str, condition: str) -> None:
    found = [each for each in of_text(text) if each.aspect == aspect]
    assert [("".join(each.dtypes), each.condition) for each in found] == [(value, condition)]
    assert found[0].declaration.condition == (f"where `{condition}`" if condition else "")


@cache
def with_half_weights() -> list[Unit]:
    """The programs of which today's rule, or the reader, says that weights are half."""
    moved = (Path(__file__).parent / "moved.tsv").read_text("utf-8").splitlines()
    new = {tuple(line.split("\t")[1:3]) for line in moved if line.startswith("+") and "\tAMP701\t" in line}
    old = {(row.set, row.unit) for row in kept() if row.rule == "AMP701"}
    return [each for each in units() if (each.set, each.name) in new | old]


def test_no_finding_contradicts_a_cell_of_the_same_report() -> None:
    """Half weights are told only where the row of weights says so as well, or says that it does not know all."""
    looked = 0
    for unit in with_half_weights():
        result = analyse(unit.sources(), RuleSelection(select=("AMP701",), abstract_run=True))
        row = result.contract.row(Aspect.WEIGHTS)
        told = [each for each in result.findings if each.rule == "AMP701" and each.path.endswith(".py")]
        looked += len(told)
        assert not told or (
            row is not None and (row.not_followed or any(_is_half(each.value) for each in row.declared))
        )
    assert looked >= 30


def test_no_finding_of_a_reader_contradicts_its_cell() -> None:
    """What is told of weights at a step is among the cells, at the place that the finding names."""
    looked = 0
    for unit in with_half_weights():
        runs = tuple(runs_in(unit.sources()))
        half = {each.place for each in cells(runs) if each.aspect is Aspect.WEIGHTS and each.dtypes & HALVES}
        for each in violations(runs):
            if each.rule == "AMP701" and each.assumes != "no step of the optimizer is seen":
                looked += 1
                assert each.steps[0][0] in half, (unit.name, each)
    assert looked >= 20


def _is_half(value: str) -> bool:
    return any(each in value for each in HALVES)


TRAINS = """import torch


def main(path):
    net = torch.nn.Linear(4, 1).cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(10):
        with torch.autocast("cuda"):
            loss = net(torch.randn(8, 4, device="cuda")).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    torch.save(net.half().state_dict(), path)


if __name__ == "__main__":
    main("weights.pt")
"""


def test_what_nothing_declares_is_filled_and_what_is_declared_stays(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINS, encoding="utf-8")
    sources = read_sources(tmp_path, ["."])
    declared = analyse(sources, StaticSettings()).contract
    after = filled(declared, Program(sources, dict.fromkeys(["train.py"])), LIBRARIES)
    was = {row.aspect: row for row in declared.rows}
    rows = [row for row in after.rows if row != was[row.aspect]]
    assert {row.aspect for row in rows} == {Aspect.WEIGHTS, Aspect.LOSS, Aspect.CHECKPOINT}
    assert not any(was[row.aspect].declared for row in rows)
    assert [(each.value, each.line, each.note) for row in rows for each in row.declared] == [
        ("float32", 5, FOLLOWED),
        ("float16", 11, FOLLOWED),
        ("float16", 14, FOLLOWED),
    ]


def test_tests_and_what_no_driver_is_in_fill_nothing(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINS.replace("    torch.save(net.half().state_dict(), path)\n", ""), "utf-8")
    saves = "import torch\n\ntorch.save(torch.nn.Linear(2, 2).double().state_dict(), 'a.pt')\n"
    (tmp_path / "other.py").write_text(saves, encoding="utf-8")
    (tmp_path / "test_train.py").write_text(f"import train\n{saves}", encoding="utf-8")
    sources = read_sources(tmp_path, ["."])
    paths = [file.path for file in sources]
    row = filled(analyse(sources, StaticSettings()).contract, Program(sources, dict.fromkeys(paths)), LIBRARIES).row(
        Aspect.CHECKPOINT
    )
    assert row is not None
    assert not row.declared


FITS = """\
import torch
MODELS = ("acme",)
def fit(model, loader, half):
    scaler = torch.amp.GradScaler("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in loader:
        with torch.autocast("cuda", dtype=torch.float16, enabled=half):
            loss = model(batch).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""


def test_a_program_that_a_model_drives_has_a_contract() -> None:
    """Its source says nothing of a backward; the model's events are at its own line. Without the model it has none."""
    text = "import torch\nimport acme\nnet = torch.nn.Linear(2, 1)\nacme.fit(net, [torch.ones(2)], True)\n"
    sources = Sources([SourceFile("train.py", text.encode())])
    program = Program(sources, {"train.py": None})
    assert filled(PrecisionContract(), program, LIBRARIES) == PrecisionContract()
    libraries = libraries_for(RuleSelection(models=(ModelFile("acme.py", FITS),)))
    rows = filled(PrecisionContract(), program, libraries).rows
    said = {row.aspect: [(each.value, each.line) for each in row.declared] for row in rows if row.declared}
    assert said[Aspect.DRIVER] == [("acme: autocast and GradScaler", 4)]
    assert said[Aspect.LOSS_SCALE] == [("GradScaler", 4)]
    assert said[Aspect.WEIGHTS] == [("float32", 3)]
    assert said[Aspect.COMPUTE] == [("float16", 4)]
