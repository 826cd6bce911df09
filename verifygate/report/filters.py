"""The filters of the templates: values in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from verifygate.base.counts import counted
from verifygate.model import Advisory, BaselineUse, Construct, PolicyOrigin, PolicyState
from verifygate.report.phrases import left_out_words, listing, statuses, tally, words
from verifygate.report.quantities import (
    amount,
    interval,
    number,
    plot,
    points,
    possible,
    quantity,
    reading,
    samples,
    seconds,
    spread,
)
from verifygate.report.trees import as_mermaid, as_text


def kinds(constructs: Sequence[Construct]) -> str:
    """`2 autocast, 1 grad-scaler`: how often each kind occurs, in the order of the source."""
    return ", ".join(f"{count} {kind}" for kind, count in Counter(c.kind.value for c in constructs).items())


def origin_words(origin: PolicyOrigin) -> str:
    """Whose policy is in force, and whether the change under review would have another."""
    option, _, name = origin.asked.partition(" ")
    at = f"{origin.commit[:12]} ({option if name == origin.commit else origin.asked})"
    number = counted(len(origin.differences), "difference")
    if origin.state is PolicyState.ACCEPTED:
        return f"that of this change, by --accept-policy, with {number} from {at}"
    if not origin.config:
        at += ", which has no configuration: the default policy"
    if not origin.differences:
        return f"that of {at}; this change alters nothing in it"
    return f"that of {at}; this change alters it ({number}), which is not in force before it is merged"


def baseline_words(use: BaselineUse) -> str:
    """How much the baseline file takes out of the verdict, and whether it is up to date."""
    told = f"{counted(len(use.held), 'finding')} of this run in {use.file}, not blocking; it has"
    told += f" {counted(use.entries, 'entry', 'entries')}"
    stale = len(use.stale)
    remedy = "`verifygate baseline prune` takes them out (after a renaming: `baseline write`)"
    return f"{told}, {stale} stale: {remedy}" if stale else told


def advisory_words(advisory: Advisory) -> str:
    """What the exit code says up to a day, and after it."""
    if advisory.in_force:
        return f"advisory until {advisory.until}: a BLOCK ends with exit code 0, and blocks from the day after"
    return f"advisory mode ended on {advisory.until}: a BLOCK blocks"


FILTERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "advisory_words": advisory_words,
        "amount": amount,
        "asked": lambda mutants, witness: sum(witness in mutant.asked for mutant in mutants),
        "baseline_words": baseline_words,
        "counted": counted,
        "interval": interval,
        "join_words": " ".join,
        "joined": lambda values: ", ".join(f"{value:,}" for value in values),
        "kinds": kinds,
        "left_out_words": left_out_words,
        "listing": listing,
        "mermaid": lambda trees: as_mermaid(("expected", trees.expected), ("actual", trees.actual)),
        "number": number,
        "noticed_by": lambda mutants, witness: sum(mutant.noticed_by(witness) for mutant in mutants),
        "origin_words": origin_words,
        "plot": plot,
        "points": points,
        "possible": possible,
        "quantity": quantity,
        "reading": reading,
        "samples": samples,
        "seconds": seconds,
        "spread": spread,
        "statuses": statuses,
        "stages": lambda stages: words(stage.stage for stage in stages),
        "tally": tally,
        "tree": as_text,
        "words": words,
    }
)
"""What templates may say of a value; each returns text that the template still escapes."""
