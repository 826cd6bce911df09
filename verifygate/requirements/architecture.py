"""Who drives mixed precision: what the specification expects, beside what stands in the sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from verifygate.base.counts import counted
from verifygate.model import ArchitectureTrees, Branch, Construct, ConstructKind, StaticDetails, Status
from verifygate.requirements.code_answers import (
    MISMATCH,
    WRITE_IT_OUT,
    WRITTEN,
    cited,
    delegation,
    in_order,
    open_answer,
    passive_readings,
    place,
    unproved,
)
from verifygate.requirements.delegated import shown_by_runs
from verifygate.requirements.facts import Answer, Facts, Missing, in_scope, listed
from verifygate.requirements.frameworks import framework_of
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
_READS = {ConstructKind.GET_SCALE: "reads the loss scale"}
_WORDS = {kind: role for kind, role, _ in ROLES} | _READS
Found = Mapping[ConstructKind, list[Construct]]


@dataclass(frozen=True)
class Comparison:
    """Both sides as the report prints them, and the answer, where explicit AMP is asked for."""

    expected: tuple[str, ...]
    actual: tuple[str, ...]
    answer: Answer | None
    trees: ArchitectureTrees | None = None


def compare(asked: Architecture, facts: Facts) -> Comparison:
    """Hold the sources against the architecture that the specification asks for."""
    expected = asked.expected or _derived(asked)
    asks = asked.explicit or asked.delegated
    static = facts.static
    if isinstance(static, Missing):
        unknown = ArchitectureTrees(expected=_expected_tree(asked), actual=Branch(text=static.reason))
        return Comparison(expected, (static.reason,), static.answer if asks else None, unknown)
    handed_over = delegation(static, asked.within)
    found = {
        kind: in_order(item for item in static.constructs if item.kind is kind and in_scope(item.path, asked.within))
        for kind in _WORDS
    }
    actual = tuple(_line(role, found[kind]) for kind, role, _ in ROLES)
    actual += tuple(f"a framework handles precision: {place(item)} {item.text}" for item in handed_over)
    shown = shown_by_runs(handed_over, facts) if handed_over or asked.delegated else None
    actual += (shown.actual,) if shown is not None else ()
    lacking = [kind for kind, _, needed in ROLES if needed and not found[kind]]
    if found[ConstructKind.CLIP] and not found[ConstructKind.UNSCALE]:
        lacking.append(ConstructKind.UNSCALE)
    if asked.delegated:
        answer = (unproved(static, facts, asked.within) if not handed_over else None) or shown
    else:
        answer = _judged(asked, static, facts, found, lacking, handed_over) if asked.explicit else None
    trees = ArchitectureTrees(
        expected=_expected_tree(asked),
        actual=_actual_tree(asked.within, static, found, lacking if asked.explicit else [], handed_over),
        mismatch=answer.actual if answer is not None and answer.status is not Status.PASS else "",
    )
    return Comparison(expected, actual, answer, trees)


def _judged(
    asked: Architecture,
    static: StaticDetails,
    facts: Facts,
    found: Found,
    lacking: list[ConstructKind],
    handed_over: list[Construct],
) -> Answer:
    if not lacking:
        every = [found[kind][0] for kind, _, _ in ROLES if found[kind]]
        return _explicit_here(every, handed_over)
    unknown = unproved(static, facts, asked.within) or open_answer(lacking, static, asked.within)
    return unknown or _lacking(lacking, handed_over)


def _derived(asked: Architecture) -> tuple[str, ...]:
    """What is expected, where the specification does not put it into words of its own."""
    if asked.explicit:
        return _explicit(asked.within)
    return ("a framework drives autocast and the scaler, and recorded steps show it",) if asked.delegated else ()


def _explicit(within: str | None) -> tuple[str, ...]:
    return tuple(f"{_whose(within)} {_needed(role, needed)}" for _, role, needed in ROLES)


def _whose(within: str | None) -> str:
    return f"code in `{within}`" if within else "the project's own code"


def _needed(role: str, needed: bool) -> str:
    return role if needed else f"{role} (where it clips)"


def _line(role: str, found: list[Construct]) -> str:
    return f"{role}: {listed(f'{place(item)} {item.symbol}'.rstrip() for item in found) or 'nothing in scope'}"


def _explicit_here(every: list[Construct], handed_over: list[Construct]) -> Answer:
    beside = f"; beside it {listed(place(item) for item in handed_over)} delegates precision" if handed_over else ""
    return Answer(Status.PASS, f"explicit AMP, step by step, in the project's own code{beside}", cited(every))


def _lacking(lacking: list[ConstructKind], handed_over: list[Construct]) -> Answer:
    named = listed(kind.value for kind in lacking)
    if handed_over:
        to = listed(dict.fromkeys(f"{framework_of(item.callee).name} at {place(item)}" for item in handed_over))
        return Answer(
            Status.FAIL,
            f"{MISMATCH}: to {to} (not found in the project's own code: {named})",
            cited(handed_over, MISMATCH),
            remedy=WRITE_IT_OUT,
        )
    actual = f"{counted(len(lacking), 'step')} of explicit AMP not found: {named}"
    return Answer(Status.FAIL, actual, remedy="write " + "; ".join(WRITTEN[kind] for kind in lacking))


# --- the trees


def _expected_tree(asked: Architecture) -> Branch:
    """The specification's own lines, or the steps of explicit AMP; or that it says nothing of it."""
    if asked.expected:
        return Branch(text="as the specification puts it", inner=tuple(Branch(text=line) for line in asked.expected))
    if asked.delegated:
        return Branch(text="delegated AMP", inner=tuple(Branch(text=line) for line in _derived(asked)))
    if not asked.explicit:
        return Branch(text="the specification says nothing of it")
    roles = tuple(Branch(text=_needed(role, needed)) for _, role, needed in ROLES)
    return Branch(text=f"explicit AMP: {_whose(asked.within)}", inner=roles)


def _actual_tree(
    within: str | None,
    static: StaticDetails,
    found: Found,
    lacking: list[ConstructKind],
    handed_over: list[Construct],
) -> Branch:
    """Symbol by symbol, in order of place: what it does itself, what it hands over, what it reads in passing."""
    own = [item for items in found.values() for item in items]
    passive = passive_readings(static, within)
    every = sorted([*own, *handed_over, *passive], key=lambda item: (item.path, item.symbol, item.line, item.kind))
    symbols = [
        _symbol_branch(path, symbol, list(items))
        for (path, symbol), items in groupby(every, key=lambda item: (item.path, item.symbol))
    ]
    symbols.sort(key=lambda branch: (branch.path or "", branch.line or 0))
    missing = tuple(_missing(kind, static, within) for kind in lacking)
    return Branch(text=_whose(within), inner=(*symbols, *missing))


def _missing(kind: ConstructKind, static: StaticDetails, within: str | None) -> Branch:
    """That nothing does something; or the place that may do it, and was not followed."""
    unknown = open_answer([kind], static, within)
    if unknown is None:
        return Branch(text=f"nothing here {_WORDS[kind]}", missing=True)
    first = unknown.cites[0]
    return Branch(text=f"{_WORDS[kind]}? {first.summary}", path=first.path, line=first.line, missing=True)


def _symbol_branch(path: str, symbol: str, items: Iterable[Construct]) -> Branch:
    inner = tuple(_step(item) for item in sorted(items, key=lambda item: (item.line, item.kind)))
    return Branch(text=f"`{symbol}`" if symbol else "top level", path=path, line=inner[0].line, inner=inner)


def _step(item: Construct) -> Branch:
    if item.kind is ConstructKind.DELEGATED:
        framework = framework_of(item.callee)
        does = tuple(Branch(text=each) for each in framework.does)
        return Branch(
            text=f"hands precision to {framework.name}: `{item.text}`", path=item.path, line=item.line, inner=does
        )
    if item.kind is ConstructKind.PASSIVE_SCALE:
        return Branch(text=f"reads the loss scale in passing, {item.note}", path=item.path, line=item.line)
    return Branch(text=f"{_WORDS[item.kind]}: `{item.text}`", path=item.path, line=item.line)
