"""Short ways to say what a report claims."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from verifygate.claims.audit import audited
from verifygate.claims.markdown import parse
from verifygate.claims.text_files import read_tree
from verifygate.model.claims import Claim, ClaimsReport

REPORTS = Path(__file__).parent / "reports"


def audit_texts(*texts: str, root: Path | None = None, run_tests: bool = False) -> ClaimsReport:
    """The audit of reports given as text; they are called r0.md, r1.md, ..."""
    documents = [parse(dedent(text).lstrip("\n"), f"r{number}.md") for number, text in enumerate(texts)]
    return audited(documents, read_tree(root, "tree") if root else None, run_tests=run_tests)


def told(report: ClaimsReport, *kinds: str) -> list[tuple[str, int, str]]:
    """Verdict, line and kind of each claim, those of the given kinds only."""
    return sorted(
        (claim.verdict.value, claim.line, claim.kind.value)
        for claim in report.claims
        if not kinds or claim.kind.value in kinds
    )


def only(report: ClaimsReport, kind: str) -> Claim:
    """The one claim of a kind."""
    (claim,) = [claim for claim in report.claims if claim.kind.value == kind]
    return claim


def refuted(report: ClaimsReport) -> list[Claim]:
    return [claim for claim in report.claims if claim.verdict.value == "REFUTED"]
