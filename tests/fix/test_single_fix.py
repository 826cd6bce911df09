"""The fix of one finding is handed out only if a new scan of everything proves it."""

from __future__ import annotations

from scanning import scan

from verifygate.base.records import replace
from verifygate.fix.single import proven_draft
from verifygate.model.check_report import CheckReport
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

LOOP = b"""\
from torch.amp import GradScaler
import torch


def train(model, optimizer, loader):
    scaler = GradScaler()
    for batch in loader:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
SOURCES = Sources([SourceFile("train.py", LOOP), SourceFile("other.py", b"x = 1\n")])


def test_the_draft_is_the_file_without_the_finding():
    report = scan(SOURCES)
    (finding,) = report.findings
    draft = proven_draft(finding, SOURCES, report, scan)
    assert draft is not None
    assert draft.data == LOOP.replace(b"        torch.nn", b"        scaler.unscale_(optimizer)\n        torch.nn")


def test_a_scan_that_still_has_the_finding_proves_nothing():
    report = scan(SOURCES)
    (finding,) = report.findings
    assert proven_draft(finding, SOURCES, report, lambda _sources: report) is None


def test_a_scan_with_a_new_finding_elsewhere_proves_nothing():
    report = scan(SOURCES)
    (finding,) = report.findings

    def brings_another(sources: Sources) -> CheckReport:
        return replace(scan(sources), findings=(replace(finding, path="other.py"),))

    assert proven_draft(finding, SOURCES, report, brings_another) is None
