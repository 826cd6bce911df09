"""A fault of the analysis itself costs the file or the entry point at which it shows, and is told."""

from __future__ import annotations

import pytest

from verifygate.base.failures import VARIABLE
from verifygate.config.rule_selection import RuleSelection
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static import prefilter
from verifygate.static.engine import analyse
from verifygate.static.paths import entry_points

CLIPS = b"""import torch


def train(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
SOURCES = Sources([SourceFile("bad.py", CLIPS), SourceFile("good.py", CLIPS)])


@pytest.fixture(autouse=True)
def _as_users_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)


def test_a_file_that_breaks_the_analysis_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any rule looks: the others are analysed as if it was not there."""
    original = prefilter._Definitions.__init__

    def breaks(self: object, file: SourceFile) -> None:
        if file.path == "bad.py":
            raise RecursionError
        original(self, file)  # type: ignore[arg-type]

    monkeypatch.setattr(prefilter._Definitions, "__init__", breaks)
    result = analyse(SOURCES, RuleSelection())
    assert {each.path for each in result.findings} == {"good.py"}
    (lost,) = result.not_analysed
    assert (lost.path, lost.mentions_amp, result.files_checked) == ("bad.py", True, 1)
    assert lost.reason.startswith("the analysis broke at it, which is a fault of verifygate's own: RecursionError in")


def test_an_entry_that_breaks_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file counts as not analysed, and no rule on the order of events passes; other entry points are explored."""
    original = entry_points.diagnose

    def breaks(graph):
        if graph.root.module.path == "bad.py":
            raise MemoryError
        return original(graph)

    monkeypatch.setattr(entry_points, "diagnose", breaks)
    result = analyse(SOURCES, RuleSelection())
    assert {each.path for each in result.findings if each.rule == "AMP201"} == {"good.py"}
    assert [each.path for each in result.not_analysed] == ["bad.py"]
    assert {"AMP201", "AMP202", "AMP209"} <= set(result.gave_up)
    assert "AMP501" not in result.gave_up
    assert any("train is not explored" in each.reason for each in result.not_followed)
