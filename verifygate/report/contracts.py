"""Contracts as `verifygate contract` prints them: text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from verifygate.model.json_document import text_of
from verifygate.model.precision_contract import PrecisionContract
from verifygate.report import escape
from verifygate.report.contract import ContractInWords
from verifygate.report.escape import LONG, plain

NONE = "Nothing here declares a precision.\n"
Titled = tuple[str, str, PrecisionContract]
"""Of what, by which framework, and its contract."""


def as_text(contracts: Sequence[Titled], changes: Sequence[str] | None) -> str:
    """A block for each contract, and one of what moved."""
    blocks = []
    for path, framework, contract in contracts:
        head = f"Precision contract of {path}, by {framework}:" if path else "Precision contract, as declared:"
        words = ContractInWords(contract)
        lines = [f"    {label:16}{plain(text, LONG)}" for label, text in words.text_lines(listed=not path)]
        blocks.append("\n".join([head, *lines]) + "\n")
    if changes is not None:
        blocks.append(
            "\n".join(["Moved since:", *(f"    {plain(each, LONG)}" for each in changes or ["nothing"])]) + "\n"
        )
    return "\n".join(blocks) or NONE


def as_markdown(contracts: Sequence[Titled], changes: Sequence[str] | None) -> str:
    """A table for each contract, and a list of what moved."""
    lines: list[str] = []
    for path, framework, contract in contracts:
        head = f"{escape.md_code(path)}, {escape.md_prose(framework)}" if path else "Programs"
        lines += [f"## {head}", "", "| Precision of | Declared | Where | Decided by |", "|---|---|---|---|"]
        lines += [f"| {' | '.join(map(escape.md_prose, row))} |" for row in _cells(contract)]
        lines.append("")
    if changes is not None:
        lines += ["## Moved", "", *(f"- {escape.md_prose(each)}" for each in changes or ["nothing"]), ""]
    return "\n".join(lines) if lines else NONE


def _cells(contract: PrecisionContract) -> Iterator[tuple[str, str, str, str]]:
    for row in contract.rows:
        for each in row.declared:
            yield row.aspect.value, each.value, f"{each.path}:{each.line}", each.condition or each.note
        for gap in row.not_followed:
            yield row.aspect.value, "not followed", f"{gap.path}:{gap.line}", gap.reason


def as_json(contracts: Iterable[Titled], changes: Sequence[str] | None) -> str:
    """`contracts`, each with `path` and `framework` (empty for that of the programs), and `changes` where asked for."""
    found = [{"path": path, "framework": framework, "contract": asdict(each)} for path, framework, each in contracts]
    return text_of({"contracts": found} | ({"changes": list(changes)} if changes is not None else {}))
