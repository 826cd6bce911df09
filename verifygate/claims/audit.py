"""Read the reports, extract what can be tested, test it, and put it in order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.claims import (
    absences,
    agreement,
    counted_lists,
    derived,
    encoding,
    equations,
    named_symbols,
    percentages,
    references,
    scores,
    tables,
    tally,
    targets,
    testcounts,
)
from verifygate.claims.agreement import Read
from verifygate.claims.identity import Identity
from verifygate.claims.ledger import Ledger
from verifygate.claims.markdown import Document, read
from verifygate.claims.rerun import runner
from verifygate.claims.text_files import Tree, read_tree
from verifygate.model.claims import Claim, ClaimsReport, ClaimVerdict

OF_THE_TEXT = (percentages, equations, scores, tables, derived, counted_lists, tally, targets, encoding)
"""Extractors that need the report alone."""
OF_THE_SOURCES = (references, named_symbols, absences)
"""Extractors that look into the source tree."""


def audit(paths: Sequence[str], root: Path | None, *, shown_root: str = "", run_tests: bool = False) -> ClaimsReport:
    """Every claim of the reports at `paths`, relative to the working directory. Raises UsageError on unusable input."""
    if run_tests and root is None:
        raise UsageError("--run-tests needs a source tree", remedy="name it with --root DIR")
    names = list(dict.fromkeys(Path(path).as_posix() for path in paths))
    documents = [read(Path(path), path) for path in names]
    tree = read_tree(root, shown_root or root.as_posix(), [Path(path) for path in names]) if root is not None else None
    return audited(documents, tree, run_tests=run_tests)


def audited(documents: Sequence[Document], tree: Tree | None, *, run_tests: bool = False) -> ClaimsReport:
    run = runner(tree) if tree is not None and run_tests else None
    reports = [Read(Identity(document), Ledger(document)) for document in documents]
    for each in reports:
        document, ledger = each.identity.document, each.ledger
        for of_text in OF_THE_TEXT:
            of_text.extract(document, ledger)
        for of_sources in OF_THE_SOURCES:
            of_sources.extract(document, ledger, tree)
        testcounts.extract(document, ledger, run)
        agreement.within(each.identity, ledger)
    agreement.between(reports)
    claims = sorted((claim for each in reports for claim in each.ledger.claims), key=lambda claim: claim.order)
    return ClaimsReport(
        source_files=len(tree.code) if tree is not None else None,
        tests_run=run is not None,
        refuted=_count(claims, ClaimVerdict.REFUTED),
        inconclusive=_count(claims, ClaimVerdict.INCONCLUSIVE),
        confirmed=_count(claims, ClaimVerdict.CONFIRMED),
        reports=tuple(each.ledger.report(each.identity.task, each.identity.version) for each in reports),
        claims=tuple(claims),
    )


def _count(claims: Sequence[Claim], verdict: ClaimVerdict) -> int:
    return sum(1 for claim in claims if claim.verdict is verdict)
