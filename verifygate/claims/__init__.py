"""Audit prose verification reports: extract what can be tested, test it, count what cannot be parsed. No guessing.

The extractors are modules of one shape: `extract(document, ledger)` for what the text alone settles, and
`extract(document, ledger, tree)` for what needs the sources. A new kind of claim is a module and a name in `audit`.
"""

from verifygate.claims.audit import audit

__all__ = ["audit"]
