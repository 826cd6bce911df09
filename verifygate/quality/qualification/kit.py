"""The kit as data: the tool, what it must do, each rule with what is known of it, and what this kit does not have."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from verifygate import proof
from verifygate.base.counts import counted
from verifygate.model import Model
from verifygate.quality.accuracy import Judged
from verifygate.quality.qualification.cases import PACKED, cases_at_hand
from verifygate.quality.qualification.identification import FROM_WHEEL, PACKAGE, Identification, identification
from verifygate.quality.qualification.rule_records import RuleRecord, rule_records
from verifygate.quality.qualification.tool_requirements import ToolDescription, tool_description
from verifygate.security.registry import security_rules
from verifygate.static.registry import load_rules

HOLDS = "holds"
PAGES = ("limits", "accuracy", "verdict")
"""Pages of the documentation that belong to the kit: limits, and figures with how they were measured."""


class Kit(Model):
    """Everything in it; equal for two calls with the same installation and the same options."""

    schema_version: int = 1
    identification: Identification
    selected: bool
    """Whether it is about some of the rules only."""
    cases_from: str
    ran: bool
    """Whether the cases were run."""
    proved: bool
    """Whether the proofs were run."""
    labels: str = ""
    """sha256 of the file of labels, where one was given."""
    labels_absent: int = 0
    """Labels whose checkout was not at hand: they count nowhere."""
    description: ToolDescription
    rules: tuple[RuleRecord, ...]
    pages: dict[str, str]
    """Page of the documentation -> sha256 of it as installed."""

    @property
    def failures(self) -> tuple[str, ...]:
        """What is not as it should be, a line each."""
        return (
            *(f"altered file: {name}" for name in self.identification.altered),
            *(each for rule in self.rules for each in rule.failed),
            *(f"{rule.code}, proof: {rule.proved}" for rule in self.rules if rule.proved not in ("", HOLDS)),
        )

    @property
    def altered(self) -> str:
        if self.identification.installed != FROM_WHEEL:
            return "not known"
        return ", ".join(self.identification.altered) or "none: every file is as the installation lists it"

    @property
    def result(self) -> str:
        """What came of all cases and examples."""
        if not self.ran:
            return "no case was run: give `--run`"
        ran = sum(rule.ran or 0 for rule in self.rules)
        return f"{ran - sum(len(rule.failed) for rule in self.rules)} of {ran} cases and examples are as they should be"

    @property
    def proof_result(self) -> str:
        if not self.proved:
            return "no proof was run: give `--prove`"
        shown = [rule.proved for rule in self.rules if rule.proved]
        return f"{shown.count(HOLDS)} of {counted(len(shown), 'proof')} hold"


def known_codes() -> tuple[str, ...]:
    return tuple(sorted({*load_rules(), *security_rules()}))


def kit_of(
    codes: Sequence[str] = (),
    *,
    runs: bool = False,
    proves: bool = False,
    labels: str = "",
    labelled: Sequence[Judged] | None = None,
    absent: int = 0,
    progress: Callable[[str], None] = lambda _text: None,
) -> Kit:
    """Put the kit together, for these rules or for all. `runs`: run the cases; `proves`: run the proofs (needs torch).

    `labelled` are the answers on labelled code, from a file of the digest `labels`. Raises UsageError where proofs were
    asked for and cannot be run.
    """
    asked = tuple(sorted(codes)) or known_codes()
    with cases_at_hand() as cases:
        found = cases or ()
        source = "the installed package" if PACKED.is_file() else "the source tree"
        rules = rule_records(
            asked,
            found,
            runs=runs,
            proofs=_proofs(asked) if proves else {},
            labelled=labelled,
            progress=progress,
        )
    return Kit(
        identification=identification(),
        selected=bool(codes),
        cases_from=source if cases is not None else "not at hand",
        ran=runs,
        proved=proves,
        labels=labels,
        labels_absent=absent,
        description=tool_description(),
        rules=rules,
        pages={name: hashlib.sha256(page(name).encode()).hexdigest() for name in PAGES},
    )


def page(name: str) -> str:
    """A page of the documentation, as it is installed."""
    return (PACKAGE / "docs" / f"{name}.md").read_text(encoding="utf-8")


def _proofs(codes: Sequence[str]) -> dict[str, str]:
    """Code -> what came of the rule's proof, on this interpreter."""
    rules = [loaded for code, loaded in load_rules().items() if code in codes and loaded.rule.proof]
    claims = [
        proof.claim_from(
            each.rule.code, each.rule.name, each.rule.proof, each.sections["Example"], each.sections["Use instead"]
        )
        for each in rules
    ]
    shown = proof.prove(claims, Path(sys.executable)) if claims else []
    return {each.claim.code: HOLDS if each.proved else each.problem or "no difference was seen" for each in shown}
