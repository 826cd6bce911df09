"""Qualified names: a second definition of a name has a number, not a line, and its findings keep their fingerprints."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from verifygate.cli import main
from verifygate.model.report import seal_of
from verifygate.sources.qualified_names import all_definitions, definitions, unnumbered

TRAIN = """\
def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
BRANCHES = (
    f"import torch\n\ncuda = torch.cuda.is_available()\nif cuda:\n{indent(TRAIN, '    ')}else:\n{indent(TRAIN, '    ')}"
)
SETTER = f"""\
import torch


class Loop:
    @property
    def x(self):
        return 1

    @x.setter
{indent(TRAIN.replace("train(model", "x(self, model"), "    ")}"""


def names(text: str) -> list[str]:
    return list(all_definitions(ast.parse(text)).values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(): pass\n", ["f"]),
        ("class C:\n    def f(self): pass\n    def f(self): pass\n", ["C", "C.f", "C.f#2"]),
        ("if x:\n    def f(): pass\nelif y:\n    def f(): pass\nelse:\n    def f(): pass\n", ["f", "f#2", "f#3"]),
        ("try:\n    def f(): pass\nexcept E:\n    def f(): pass\nelse:\n    class f: pass\n", ["f", "f#2", "f#3"]),
        ("match x:\n    case 1:\n        def f(): pass\n    case 2:\n        def f(): pass\n", ["f", "f#2"]),
        ("class C:\n    def f(self): pass\nclass C:\n    def f(self): pass\n", ["C", "C#2", "C#2.f", "C.f"]),
        ("def f():\n    async def g(): pass\n    with x:\n        def g(): pass\n", ["f", "f.g", "f.g#2"]),
        ("def f(): pass\n\n\ndef g():\n    def f(): pass\n", ["f", "g", "g.f"]),
    ],
)
def test_definitions_of_one_name_are_numbered_in_the_order_of_the_source(text: str, expected: list[str]):
    assert sorted(names(text)) == sorted(expected)


def test_a_body_names_its_own_definitions_only():
    body = ast.parse("def f():\n    def g(): pass\nfor x in y:\n    def f(): pass\n").body
    assert list(definitions(body).values()) == ["f", "f#2"]


def test_the_number_is_no_part_of_the_name_in_the_source():
    assert unnumbered("Loop#2.step#3") == "Loop.step"
    assert unnumbered("Loop.step") == "Loop.step"


def found(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str, str]]:
    (folder / "train.py").write_text(text, encoding="utf-8")
    main(["check", "--no-cache", "--format", "json", "train.py"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    return [(each["rule"], each["symbol"], each["fingerprint"]) for each in findings]


@pytest.mark.parametrize(("text", "second"), [(BRANCHES, "train#2"), (SETTER, "Loop.x#2")])
def test_a_line_above_changes_no_fingerprint(
    text: str, second: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Neither of the first definition of a name nor of the second."""
    monkeypatch.chdir(tmp_path)
    before = found(tmp_path, text, capsys)
    assert second in [symbol for _, symbol, _ in before]

    assert found(tmp_path, f"# a comment\n{text}", capsys) == before


def as_an_earlier_version_wrote_it(document: dict[str, Any]) -> dict[str, Any]:
    """The same report with the name and the fingerprint that the second `train` of BRANCHES had there."""
    finding = next(each for each in document["stages"][0]["findings"] if each["symbol"] == "train#2")
    finding |= {"symbol": "train@13", "fingerprint": "b7f70f97536fd73e8af09af2"}
    document["run"]["seal"] = seal_of(document)
    return document


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with BRANCHES in train.py, and in old.json its report by an earlier version."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(BRANCHES, encoding="utf-8")
    assert main(["run", "--stage", "static", "--report-dir", "old"]) == 1
    document = as_an_earlier_version_wrote_it(json.loads((tmp_path / "old/report.json").read_text(encoding="utf-8")))
    (tmp_path / "old.json").write_text(json.dumps(document), encoding="utf-8")
    return tmp_path


def test_a_report_of_an_earlier_version_still_matches(project: Path, capsys: pytest.CaptureFixture[str]):
    """Its second definition was named by its line, `train@13`; lines added above do not part the two either."""
    (project / "train.py").write_text(f"# a comment\n{BRANCHES}", encoding="utf-8")

    main(["run", "--stage", "static", "--report-dir", "new", "--baseline", "old.json"])
    changes = json.loads((project / "new/report.json").read_text(encoding="utf-8"))["changes"]
    assert [each["symbol"] for each in changes["open"]] == ["train", "train#2"]
    assert (changes["new"], changes["fixed"]) == ([], [])

    capsys.readouterr()
    assert main(["compare", "old.json", "new/report.json"]) == 0
    assert "0 new, 0 newly reached, 2 open, 0 fixed" in capsys.readouterr().out


def test_a_finding_that_is_gone_takes_no_other_ones_place(project: Path, capsys: pytest.CaptureFixture[str]):
    """What stood in an old report's second definition is fixed when no finding of the same line is left there."""
    head, _, second = BRANCHES.rpartition("1.0")
    (project / "train.py").write_text(f"{head}2.0{second}", encoding="utf-8")

    assert main(["run", "--stage", "static", "--report-dir", "new"]) == 1
    capsys.readouterr()
    assert main(["compare", "old.json", "new/report.json"]) == 1
    assert "1 new, 0 newly reached, 1 open, 1 fixed" in capsys.readouterr().out
