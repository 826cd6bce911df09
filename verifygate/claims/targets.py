"""Targets that a report calls met: does it hold a measurement? "Projected" is none, and a check in the code is none.

A target that is called met is never refuted for want of a measurement: it may be met. It is INCONCLUSIVE, not
measured. It is refuted only by figures of the report itself: an actual value on the wrong side of the target.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from verifygate.claims.ledger import Ledger
from verifygate.claims.markdown import CODE_SPAN, Document, Sentence, Table
from verifygate.claims.numbers import NUMBER, Printed, printed, shown
from verifygate.claims.status import Ended, ended
from verifygate.model.claims import ClaimKind, ClaimVerdict

METRICS = {
    "speed-up": r"\bspeed-?up\b|\bfaster\b|\bspeedup target\b",
    "memory": (
        r"\bmemory (?:reduction|savings?|usage|footprint)\b|\b\d+\s?% memory\b|\bpeak memory\b"
        r"|\bmemory efficiency\b"
    ),
    "accuracy": r"\baccuracy\b|\bdegradation\b|\bperplexity\b",
    "latency": r"\blatency\b|\bresponse time\b|\bp9[59]\b",
    "throughput": r"\bthroughput\b|\b(?:samples|tokens|images)/s",
}
_METRICS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in METRICS.items()}
_UNITS = {
    "speed-up": r"x\b|×",
    "memory": r"%|[KMGT]i?B\b",
    "accuracy": r"%",
    "latency": r"m?s\b|µs\b|seconds?\b",
    "throughput": r"req|samples|tokens|/s|qps|rps|k\b",
}
_TARGET = re.compile(
    r"\b(?:targets?|requirements?|goals?|thresholds?|budgets?|sla|slo|minimum|required)\b", re.IGNORECASE
)
_MET = re.compile(
    r"\b(?:meets|met|achieve[sd]|exceed(?:s|ed)|satisf(?:ies|ied)|surpass(?:es|ed)|beats?)\b"
    r"|\bwithin (?:the )?(?:target|budget|limits?|sla)\b|✅|✓|✔|\bPASS(?:ED)?\b|\bYes\b"
    r"|\bverified\b",
    re.IGNORECASE,
)
_NOT_MET = re.compile(
    r"\b(?:not|cannot|can't|n't|fail\w*|unmet|missing|unless|if|should|must|need\w*|to be"
    r"|verify that|when|once|will|would|ensure|may|might)\b|❌|⚠",
    re.IGNORECASE,
)
PROJECTED = re.compile(
    r"\b(?:projected|projection|expected|estimat\w+|theoretical\w*|anticipated|potential\w*|should"
    r"|predicted|simulated|assum\w+|code inspection|by design|will be)\b",
    re.IGNORECASE,
)
_CHECKED_ONLY = re.compile(r"\bchecks?\b|\bcalculation\b|\btracking\b", re.IGNORECASE)
_MEASURED = re.compile(
    r"\b(?:measured|actual(?:ly)?|observed|recorded|benchmarked|achieved|median|mean|average|avg"
    r"|n\s?=\s?\d+|runs?|p50|p95|p99)\b",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"≥|>=|≤|<=|[<>]\s?\d|\btarget\b|\bminimum\b|\bgoal\b|\bthreshold\b|\brequire\w*\b|\bat least\b|\bat most\b",
    re.IGNORECASE,
)
_VALUE = re.compile(
    rf"(?<![\w.])(?P<sign>≥|>=|≤|<=|<|>"
    rf"|=)?\s?(?P<figure>[~≈]?{NUMBER})(?P<to>\s?[-–]\s?{NUMBER})?\s?(?P<unit>%|x\b|×|[A-Za-zµ/]+)?"
)
_BOUND = re.compile(
    rf"^[\s*~]*(?P<sign>≥|>=|≤|<=|<|>|at least|at most|under|below|above|over|minimum"
    rf"|max(?:imum)?)\s*(?P<figure>[$€]?{NUMBER})\s?(?P<unit>%|x\b|×|[A-Za-zµ]+(?:/[a-z]+)?)?",
    re.IGNORECASE,
)
_LEAST = frozenset({"≥", ">=", ">", "at least", "above", "over", "minimum"})


_WITH_TARGET = re.compile(
    rf"(?<![\w.<>≤≥=])(?P<value>[~≈]?{NUMBER})\s?(?P<unit>%|x\b|×|[A-Za-zµ]+(?:/[a-z]+)?)?[^()\d]{{0,30}}"
    r"\((?:target|goal|threshold|required|requirement|limit|budget)(?:\s+(?:was|is|of))?\s*:?\s*(?P<bound>[^()]*)\)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Figure:
    sentence: Sentence
    metric: str
    words: str


def extract(document: Document, ledger: Ledger) -> None:
    for table in document.tables:
        _table(ledger, table)
    for sentence in document.sentences:
        if sentence.role != "row" and (found := _WITH_TARGET.search(repaired(sentence.flat))):
            _beside_target(ledger, sentence, found)
    measured = list(_measurements(document))
    for sentence, metrics, note in called_met(document):
        for_these = [figure for figure in measured if figure.metric in metrics and figure.sentence is not sentence]
        against = [ledger.passage(figure.sentence) for figure in for_these[:3]]
        if own := _own_figure(sentence, metrics):
            reason = f"{own} is stated, with no samples to recompute it from"
        elif not for_these:
            what = ", ".join(metrics) if len(metrics) < len(_METRICS) else "any performance figure"
            reason = f"not measured: the report calls a target met, and holds no measurement of {what}{note}"
        else:
            reason = (
                f"the report states {for_these[0].words} on line {for_these[0].sentence.line}, without "
                f"the samples to recompute it from{note}"
            )
        ledger.add(sentence, ClaimKind.TARGET, ClaimVerdict.INCONCLUSIVE, reason, against=against)


def _own_figure(sentence: Sentence, metrics: Sequence[str]) -> str:
    """The value in the sentence itself, where it is given as one that was seen: `Speedup: 1.62x`."""
    text = CODE_SPAN.sub(" ", sentence.flat)
    compared = _COMPARED.search(text) or _CHECKED_ONLY.search(text)
    if PROJECTED.search(text) or (compared and not _MEASURED.search(text)):
        return ""
    return next((words for name in metrics for words in _values(text, name)), "")


def called_met(document: Document) -> Iterator[tuple[Sentence, tuple[str, ...], str]]:
    """Each sentence that calls a target met, with its metrics and what is said of the way it was met."""
    every = tuple(_METRICS)
    for sentence in document.sentences:
        if sentence.role == "row" or _WITH_TARGET.search(repaired(sentence.flat)):
            continue
        text = CODE_SPAN.sub(" ", repaired(sentence.flat))
        metrics = tuple(name for name, pattern in _METRICS.items() if pattern.search(text))
        number = re.search(r"\d", text) is not None
        about_target = _TARGET.search(text) is not None
        said_met = _MET.search(text) is not None and not _NOT_MET.search(text)
        general = re.search(r"\b(?:all )?performance (?:targets|requirements|goals)\b", text, re.IGNORECASE) is not None
        if (
            sentence.role == "heading"
            and metrics
            and number
            and not said_met
            and (about_target or _COMPARED.search(text))
        ):
            below = next(
                (s for s in document.within(sentence.section) if s.label in ("status", "result", "verdict")), None
            )
            said_met = below is not None and ended(below.value) is Ended.PASS
        if not said_met:
            continue
        if general and about_target:
            yield sentence, metrics or every, _note(document, sentence, text)
        elif metrics and ((about_target and not _PLANNING.search(text)) or (number and _bound_of_metric(text))):
            yield sentence, metrics, _note(document, sentence, text)
        elif sentence.label in ("meets target", "target met", "meets targets", "targets met"):
            yield (
                sentence,
                tuple(n for n, p in _METRICS.items() if p.search(sentence.section.title)) or every,
                _note(document, sentence, text),
            )


_PLANNING = re.compile(r"\b(?:add|benchmark script|create|document)\b", re.IGNORECASE)


def _bound_of_metric(text: str) -> bool:
    """`Speedup: 1.5x`, `<0.01 degradation`, `40% memory reduction` with a mark that it passed."""
    if not re.search(r"✅|✓|✔|\bPASS", text):
        return False
    of_metric = (name for name, pattern in _METRICS.items() if pattern.search(text))
    return any(re.search(rf"\d\s?(?:{_UNITS[name]})|[<≤]\s?0?\.\d", text, re.IGNORECASE) for name in of_metric)


def _note(document: Document, sentence: Sentence, text: str) -> str:
    section = list(document.within(sentence.section.below(3)))
    if PROJECTED.search(text) or PROJECTED.search(sentence.section.title):
        return "; projected is not measured"
    if _CHECKED_ONLY.search(text) and not _MEASURED.search(text):
        return "; that the code checks for it is no measurement"
    if sentence.role == "heading" and any(re.search(r"\blines? \d", each.flat, re.IGNORECASE) for each in section):
        return "; what stands below it describes code"
    return ""


def repaired(text: str) -> str:
    """Damaged check marks read as what they were."""
    return text.replace("âœ…", "✅").replace("âœ“", "✓").replace("âœ”", "✔").replace("âŒ", "❌")


def _measurements(document: Document) -> Iterator[Figure]:
    """Figures with a metric and a unit that are neither targets nor projections."""
    for sentence in document.sentences:
        text = CODE_SPAN.sub(" ", sentence.flat)
        where = sentence.section.titles
        if (
            PROJECTED.search(text)
            or any(PROJECTED.search(title) for title in (where,))
            or re.search(r"\blines? \d", text, re.IGNORECASE)
        ):
            continue
        if _COMPARED.search(text) and not _MEASURED.search(text):
            continue
        if re.search(
            r"\b(?:cannot|verify|check\w*|should|target|add|prevent\w*|potential|impact|overhead|loss|hit)\b",
            text,
            re.IGNORECASE,
        ) and not _MEASURED.search(text):
            continue
        for name, pattern in _METRICS.items():
            if not pattern.search(f"{sentence.section.title} {text}") or not pattern.search(text):
                continue
            for words in _values(text, name):
                yield Figure(sentence, name, words)
                break


def _values(text: str, metric: str) -> Iterator[str]:
    """The figures in a text whose unit is one of the metric's, but for bounds and ranges."""
    for match in _VALUE.finditer(text):
        unit = match["unit"] or ""
        if not match["sign"] and not match["to"] and unit and re.match(_UNITS[metric], unit, re.IGNORECASE):
            yield f"{match['figure']}{' ' if unit.isalpha() and len(unit) > 1 else ''}{unit}"


def _beside_target(ledger: Ledger, sentence: Sentence, found: re.Match[str]) -> None:
    """`Coverage: 78% (target: >=80%) ✅`: the value against the target beside it."""
    text = repaired(sentence.flat)
    bound, number = _bound(found["bound"]), printed(found["value"].replace("≈", "~"))
    fails = re.search(r"❌|\bFAIL", text) is not None
    passes = re.search(r"✅|✓|✔|\bPASS(?:ED)?\b|\b(?:meets|met|exceeds|achieved)\b", text) is not None
    if number is None or fails is passes or re.search(r"\b(?:not|n't)\b", text):
        return
    unit = (found["unit"] or "").lower()
    at_limit = bound is not None and bound[2] and bound[0].value == number.value
    if bound is None or at_limit or bound[3].lower() != unit or number.about or PROJECTED.search(text):
        ledger.add(sentence, ClaimKind.TARGET, ClaimVerdict.INCONCLUSIVE, "the value and its target cannot be compared")
        return
    limit, least, _, _ = bound
    met = _holds(number, limit, least=least)
    comparison = f"{shown(number.value, 4)}{unit} {'meets' if met else 'does not meet'} {found['bound'].strip()}"
    if met is passes:
        ledger.add(sentence, ClaimKind.TARGET, ClaimVerdict.CONFIRMED, f"{comparison}, as the figures are given")
    elif passes:
        ledger.add(sentence, ClaimKind.TARGET, ClaimVerdict.REFUTED, comparison)


# --- tables with a target, an actual value and a status


def _table(ledger: Ledger, table: Table) -> None:
    target = table.column(r"^(?:targets?|thresholds?|requirements?|required|goals?|budget|sla|limit|expected)\b")
    actual = table.column(r"^(?:actual|measured|achieved|current|result|observed|value)\b")
    status = table.column(r"^(?:status|met|pass(?:ed)?|verdict|outcome)\b")
    if target is None or actual is None or status is None or len({target, actual, status}) < 3:
        return
    for row, cells in zip(table.rows, table.cells, strict=True):
        if max(target, actual, status) < len(cells):
            _row(ledger, row, cells, target, actual, status)


def _row(ledger: Ledger, row: Sentence, cells: Sequence[str], target: int, actual: int, status: int) -> None:
    bound, said = _bound(cells[target]), ended(cells[status])
    value = re.match(
        rf"^[\s*]*(?P<figure>[~≈]?{NUMBER})\s?(?P<unit>%|x\b|×|[A-Za-zµ]+(?:/[a-z]+)?)?[\s*]*(?:\(.*\))?[\s*]*$",
        cells[actual],
    )
    if bound is None or said not in (Ended.PASS, Ended.FAIL) or not value:
        return
    limit, least, strict, unit = bound
    number = printed(value["figure"].replace("≈", "~"))
    if number is None or (value["unit"] or "").lower() != unit.lower():
        return
    words = f"{cells[0]}: target {cells[target]}, actual {cells[actual]}, {cells[status]}"
    if number.about or PROJECTED.search(" ".join(cells)):
        ledger.add(row, ClaimKind.TARGET, ClaimVerdict.INCONCLUSIVE, "the figure is not a measured one", words=words)
        return
    if strict and number.value == limit.value:
        reason = "as printed, the value is the limit itself; what was rounded away decides"
        ledger.add(row, ClaimKind.TARGET, ClaimVerdict.INCONCLUSIVE, reason, words=words)
        return
    met = _holds(number, limit, least=least)
    passed = said is Ended.PASS
    comparison = f"{shown(number.value, 4)}{unit} {'meets' if met else 'does not meet'} {cells[target].strip(' *')}"
    if met is passed:
        verdict, reason = ClaimVerdict.CONFIRMED, f"{comparison}, so the status follows from the figures given"
    elif met:
        verdict, reason = ClaimVerdict.INCONCLUSIVE, f"{comparison}; it may have failed for another reason"
    else:
        verdict, reason = ClaimVerdict.REFUTED, comparison
    ledger.add(row, ClaimKind.TARGET, verdict, reason, words=words)


def _holds(number: Printed, limit: Printed, *, least: bool) -> bool:
    return number.value >= limit.value if least else number.value <= limit.value


def _bound(cell: str) -> tuple[Printed, bool, bool, str] | None:
    """Limit, whether it is a least value, whether it excludes equality, and its unit."""
    found = _BOUND.match(cell)
    if not found:
        whole = re.match(r"^[\s*]*100\s?%[\s*]*$", cell)
        return (printed("100") or Printed(1, 1), True, False, "%") if whole else None  # type: ignore[arg-type]
    number = printed(found["figure"].lstrip("$€"))
    sign = found["sign"].lower()
    return (number, sign in _LEAST, sign in "<>", found["unit"] or "") if number else None
