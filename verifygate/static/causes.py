"""Findings by their cause: what one cause breaks at several locations is one finding, which lists them all.

Locations are put together after suppression comments were applied, each to the finding at its own location.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from verifygate.base.records import replace
from verifygate.model import Certainty, Detail, Finding
from verifygate.protocol import Violation
from verifygate.rule_codes import PrecisionConflict
from verifygate.sources.tree import Sources

_CauseOf = Callable[[Finding], Hashable]

_GIVES_WAY: Mapping[str, str] = {
    Violation.ENABLED_MISMATCH: Violation.BF16_WITH_SCALER,
    Violation.DEPRECATED_AMP_API: Violation.SHARDED_NEEDS_SHARDED_SCALER,
}
"""Rule -> the rule whose remedy for the same statement is another: a scaler of its own, or a condition of its own."""

_SAID_BY: Mapping[str, frozenset[str]] = {
    Violation.SCALED_GRADIENT_READ: frozenset({Violation.CLIP_BEFORE_UNSCALE}),
    Violation.UNSCALE_TWICE: frozenset({Violation.STEP_WRONG_OBJECT}),
    PrecisionConflict.DELEGATED_PRECISION: frozenset(
        {PrecisionConflict.CONTRADICTING_PRECISION, PrecisionConflict.ARGUMENTS_CONTRADICT_DEEPSPEED}
    ),
}
"""Rule -> those that say more of the same cause, where they are told of the same line."""


ALSO = "also breaks"
"""Label of the detail that names the rules which a finding speaks for."""


def also_broken(finding: Finding) -> tuple[str, ...]:
    """The rules whose findings on the same line one tells as well."""
    return tuple(rule for detail in finding.details if detail.label == ALSO for rule in detail.values)


def told_once(found: Sequence[Finding]) -> list[Finding]:
    """The findings, without those whose cause another one on the same line tells: that one names their rules."""
    there = {(each.rule, each.path, each.line): each for each in found}
    also: dict[str, tuple[str, ...]] = {}
    kept = []
    for each in found:
        others = (there.get((rule, each.path, each.line)) for rule in _SAID_BY.get(each.rule, ()))
        by = next((other for other in others if other is not None and _says_as_much(other, each)), None)
        if by is None:
            kept.append(each)
        else:
            also[by.fingerprint] = (*also.get(by.fingerprint, ()), each.rule)
    return [
        replace(each, details=(*each.details, Detail(label=ALSO, values=also[each.fingerprint])))
        if each.fingerprint in also
        else each
        for each in kept
    ]


def _says_as_much(finding: Finding, other: Finding) -> bool:
    return not other.places and (finding.certainty is Certainty.CERTAIN or other.certainty is not Certainty.CERTAIN)


def agreeing(found: Sequence[Finding], causes: dict[str, Hashable]) -> list[Finding]:
    """The findings, without a remedy that contradicts that of another finding on the same statement.

    A finding whose remedy is another one shares its cause with no other.
    """
    there = {(each.rule, each.path, each.line): each for each in found if each.rule in _GIVES_WAY.values()}
    agreed = []
    for each in found:
        other = there.get((_GIVES_WAY.get(each.rule, ""), each.path, each.line))
        if other is not None:
            causes.pop(each.fingerprint, None)
            agreed.append(replace(each, remedy=f"see {other.rule} on this line first: {other.remedy}"))
        else:
            agreed.append(each)
    return agreed


def one_per_cause(found: Iterable[Finding], causes: Mapping[str, Hashable], sources: Sources) -> list[Finding]:
    """One finding for each cause, and one for all identical copies of a file; `causes` by fingerprint."""
    return _grouped(_grouped(found, lambda each: causes.get(each.fingerprint)), _in_copies(sources))


def _grouped(found: Iterable[Finding], cause: _CauseOf) -> list[Finding]:
    """The findings of one rule and one cause as the worst of them, with the locations of the others."""
    groups: dict[Hashable, list[Finding]] = {}
    for finding in found:
        known = cause(finding)
        key = (finding.fingerprint,) if known is None else (finding.rule, known)
        groups.setdefault(key, []).append(finding)
    return [_as_one(group) for group in groups.values()]


def _as_one(group: Sequence[Finding]) -> Finding:
    if len(group) == 1:
        return group[0]
    first, *others = sorted(group, key=lambda each: (each.certainty is not Certainty.CERTAIN, each.order))
    places = [place for each in others for place in each.locations]
    return replace(first, places=(*first.places, *places))


def _in_copies(sources: Sources) -> _CauseOf:
    """The cause of a finding in a file that has identical copies: its location in any of them."""
    sizes: dict[int, int] = {}
    for file in sources:
        sizes[file.size] = sizes.get(file.size, 0) + 1

    def cause(finding: Finding) -> Hashable:
        file = sources.get(finding.path)
        if file is None or sizes[file.size] == 1:
            return None
        return (file.digest, finding.line, finding.column, finding.message)

    return cause
