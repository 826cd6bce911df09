"""Who drives mixed precision: what the specification expects, beside what stands in the sources."""

from __future__ import annotations

from dataclasses import dataclass

from verifygate.model import Construct, ConstructKind, Status
from verifygate.requirements.code import MISMATCH, WRITE_IT_OUT, cited, delegation, in_order, place, unproved
from verifygate.requirements.facts import Answer, Facts, Missing, counted, in_scope, listed
from verifygate.requirements.spec import Architecture

ROLES = (
    (ConstructKind.GRAD_SCALER, "makes the GradScaler", True),
    (ConstructKind.AUTOCAST, "enters autocast", True),
    (ConstructKind.SCALE, "scales the loss", True),
    (ConstructKind.UNSCALE, "unscales the gradients", False),
    (ConstructKind.CLIP, "clips them", False),
    (ConstructKind.SCALER_STEP, "steps through the scaler", True),
    (ConstructKind.UPDATE, "updates the scale", True),
)
"""In the protocol's order. The optional two belong together: who clips has to unscale before, and need not clip."""


@dataclass(frozen=True)
class Comparison:
    """Both lists as the report prints them, and the answer, where explicit AMP is asked for."""

    expected: tuple[str, ...]
    actual: tuple[str, ...]
    answer: Answer | None


def compare(asked: Architecture, facts: Facts) -> Comparison:
    """Hold the sources against the architecture that the specification asks for."""
    expected = asked.expected or (_explicit(asked.within) if asked.explicit else ())
    static = facts.static
    if isinstance(static, Missing):
        return Comparison(expected, (static.reason,), static.answer if asked.explicit else None)
    handed_over = delegation(static, asked.within)
    found = {
        kind: in_order(item for item in static.constructs if item.kind is kind and in_scope(item.path, asked.within))
        for kind, _, _ in ROLES
    }
    actual = tuple(_line(role, found[kind]) for kind, role, _ in ROLES)
    actual += tuple(f"a framework handles precision: {place(item)} {item.text}" for item in handed_over)
    if not asked.explicit:
        return Comparison(expected, actual, None)
    lacking = [kind for kind, _, needed in ROLES if needed and not found[kind]]
    if found[ConstructKind.CLIP] and not found[ConstructKind.UNSCALE]:
        lacking.append(ConstructKind.UNSCALE)
    if not lacking:
        every = [found[kind][0] for kind, _, _ in ROLES if found[kind]]
        return Comparison(expected, actual, _explicit_here(every, handed_over))
    return Comparison(expected, actual, unproved(static, facts, asked.within) or _lacking(lacking, handed_over))


def _explicit(within: str | None) -> tuple[str, ...]:
    where = f"code in `{within}`" if within else "the project's own code"
    return tuple(f"{where} {role}{'' if needed else ' (where it clips)'}" for _, role, needed in ROLES)


def _line(role: str, found: list[Construct]) -> str:
    return f"{role}: {listed(f'{place(item)} {item.symbol}'.rstrip() for item in found) or 'nothing in scope'}"


def _explicit_here(every: list[Construct], handed_over: list[Construct]) -> Answer:
    beside = f"; beside it {listed(place(item) for item in handed_over)} delegates precision" if handed_over else ""
    return Answer(Status.PASS, f"explicit AMP, step by step, in the project's own code{beside}", cited(every))


def _lacking(lacking: list[ConstructKind], handed_over: list[Construct]) -> Answer:
    named = listed(kind.value for kind in lacking)
    if handed_over:
        return Answer(
            Status.FAIL, f"{MISMATCH} (not found: {named})", cited(handed_over, MISMATCH), remedy=WRITE_IT_OUT
        )
    actual = f"{counted(len(lacking), 'step')} of explicit AMP not found: {named}"
    return Answer(Status.FAIL, actual, remedy=f"add {named} to the training loop")
