"""reference_impl's links: every requirement has code, and an edit turns exactly the rows suspect that rest on it."""

from __future__ import annotations

import ast
import datetime as dt
import shutil
from pathlib import Path

import pytest
from record_reference import REPOSITORY, read_record
from requirement_world import Traced

from verifygate.config.settings import RequirementsSettings, Settings
from verifygate.model import LinkState, Status
from verifygate.process.subject import Subject
from verifygate.requirements import RequirementsStage, read_lock
from verifygate.requirements.lock import Lock, accept, written
from verifygate.requirements.symbol_digests import FileSymbols
from verifygate.sources.discovery import read_sources
from verifygate.sources.file import SourceFile
from verifygate.stage import StageContext
from verifygate.static.stage import StaticStage

SPEC = "reference_impl/requirements.yaml"


class Reference:
    """A copy of reference_impl to edit, with the record of its real run as the evidence."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(
            REPOSITORY / "reference_impl", root / "reference_impl", ignore=shutil.ignore_patterns("__pycache__", "out")
        )
        self.results = read_record()

    def trace(self) -> Traced:
        settings = Settings(root=self.root, today=dt.date(2026, 11, 22), requirements=RequirementsSettings(spec=SPEC))
        sources = read_sources(self.root, ["reference_impl"])
        context = StageContext(settings, sources, Subject.__new__(Subject), self.results)
        results = self.results | {"static": StaticStage().run(context)}
        return Traced(RequirementsStage().run(StageContext(settings, sources, context.subject, results)))

    def accept(self) -> None:
        lock, _, _ = accept(None, self.trace().rows, [], "c0ffee")
        (self.root / "reference_impl/requirements.lock.json").write_text(written(lock), encoding="utf-8")

    @property
    def lock(self) -> Lock:
        lock = read_lock(self.root, SPEC)
        assert lock is not None
        return lock

    def edit(self, symbol: str) -> None:
        """Put a statement without effect at the beginning of a function or class: other syntax, the same behaviour."""
        path, _, name = symbol.partition("::")
        file = self.root / path
        lines = file.read_text(encoding="utf-8").split("\n")
        found = FileSymbols(SourceFile(path, file.read_bytes())).get(name)
        assert found is not None
        (node,) = [
            each
            for each in ast.walk(ast.parse("\n".join(lines)))
            if isinstance(each, ast.FunctionDef | ast.ClassDef) and each.lineno == found.line
        ]
        first = next(each for each in node.body if not isinstance(getattr(each, "value", None), ast.Constant))
        at = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", []))]) - 1
        indent = lines[first.lineno - 1][: first.col_offset]
        file.write_text("\n".join([*lines[:at], f"{indent}_ = None", *lines[at:]]), encoding="utf-8")


@pytest.fixture
def reference(tmp_path: Path) -> Reference:
    return Reference(tmp_path)


def test_every_requirement_is_linked_to_code(reference: Reference) -> None:
    """By a mark or a construct, and no mark is in vain."""
    coverage = reference.trace().details.coverage
    assert (coverage.orphans, coverage.stray) == ((), ())
    assert (coverage.uncovered, coverage.unlinked) == ((), ())


def test_nothing_is_suspect_after_acceptance(reference: Reference) -> None:
    reference.accept()
    found = reference.trace()
    assert [row.id for row in found.rows.values() if row.suspect] == []
    assert {link.state for row in found.rows.values() if row.status is Status.PASS for link in row.links} == {
        LinkState.ACCEPTED
    }
    assert len(reference.lock.requirements) > 15


@pytest.mark.parametrize(
    "symbol",
    [
        "reference_impl/train.py::train_step",
        "reference_impl/train.py::require_finite",
        "reference_impl/precision.py::Precision.scaler",
        "reference_impl/checkpoint.py::Checkpoint.save",
        "reference_impl/tests/test_train_step.py::test_clipping_sees_unscaled_gradients",
    ],
)
def test_an_edit_turns_exactly_the_rows_that_rest_on_it(reference: Reference, symbol: str) -> None:
    """Those linked to the symbol, or to the class around it, and no others."""
    reference.accept()
    around = {symbol, symbol.rpartition(".")[0]} if "." in symbol.partition("::")[2] else {symbol}
    resting = {
        name for name, entry in reference.lock.requirements.items() if around & (entry.code.keys() | entry.tests.keys())
    }
    reference.edit(symbol)
    found = reference.trace()
    assert resting
    assert {row.id for row in found.rows.values() if row.suspect} == resting


def test_edited_code_and_edited_tests_together_are_not_green(reference: Reference) -> None:
    """What rests on tests alone then rests on nothing that somebody accepted. What a run shows as well stays green."""
    before = reference.trace().statuses
    reference.accept()
    for name in ("CKPT-02", "AMP-02"):
        for symbol in (*reference.lock.requirements[name].code, *reference.lock.requirements[name].tests):
            reference.edit(symbol)
    found = reference.trace()
    turned = {name: status for name, status in found.statuses.items() if status is not before[name]}
    assert turned == {"CKPT-02": Status.PARTIAL}
    assert {"CKPT-01", "CKPT-02", "AMP-02"} <= {row.id for row in found.rows.values() if row.suspect}
