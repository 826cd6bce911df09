"""The result of the primer as a JSON document, and that document as Markdown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from primer.comparison import CHANGED, GONE, NEW, weight
from primer.differential import PackageResult, Side
from primer.judging import is_blocking, tally
from primer.scans import Revision
from verifygate.quality.judgements import Answer

_MIB = 1 << 20


def document_of(results: Sequence[PackageResult], base: Revision | None, head: Revision) -> dict[str, Any]:
    """Everything that the primer has to say. What differs from run to run is under `measured` alone."""
    differences = [each for result in results for each in result.differences]
    judged = [pair for result in results for pair in result.judged]
    document = {
        "base": base.label if base else None,
        "head": head.label,
        "packages": [_package(result) for result in results],
        "rules": {
            rule: {
                "findings": sum(each["rule"] == rule for result in results for each in result.head.findings),
                **{kind: sum(d.rule == rule and d.kind == kind for d in differences) for kind in (NEW, GONE, CHANGED)},
            }
            for rule in sorted({f["rule"] for r in results for f in r.head.findings} | {d.rule for d in differences})
        },
        "differences": [asdict(each) for each in differences],
        "judgements": tally([judgement for _, judgement in judged]),
        "unjudged": [_place(r, f) for r in results for f, judgement in r.judged if judgement is None],
        "false": [
            _place(result, finding) | {"why": judgement.why}
            for result in results
            for finding, judgement in result.judged
            if judgement is not None and judgement.judgement is Answer.FALSE
        ],
        "lost": [each.model_dump(mode="json") for result in results for each in result.lost],
        "unstable": [r.pin.label for r in results if not r.head.equal or (r.base and not r.base.equal)],
        "broken": [
            {"package": result.pin.label, "side": name, "ending": side.broke}
            for result in results
            for name, side in (("base", result.base), ("head", result.head))
            if side is not None and side.broke
        ],
    }
    return document | {"measured": _measured(results)}


def is_sound(document: dict[str, Any]) -> bool:
    """Whether each scan came to its end, twice in the same way, and each blocking finding is judged and not false."""
    return not any(document[name] for name in ("unjudged", "false", "unstable", "broken"))


def _package(result: PackageResult) -> dict[str, Any]:
    head = result.head
    certainties = Counter(weight(each) for each in head.findings)
    return {
        "package": result.pin.name,
        "version": result.pin.version,
        "status": {"base": result.base.status if result.base else None, "head": head.status},
        "findings": len(head.findings),
        "blocking": sum(is_blocking(each) for each in head.findings),
        "by_weight": dict(sorted(certainties.items())),
        "not_followed": {"base": result.base.not_followed if result.base else None, "head": head.not_followed},
        "not_analysed": {"base": result.base.not_analysed if result.base else None, "head": head.not_analysed},
    }


def _place(result: PackageResult, finding: dict[str, Any]) -> dict[str, Any]:
    kept = ("rule", "severity", "path", "line", "fingerprint", "symbol", "message", "snippet")
    return {"package": result.pin.name, "version": result.pin.version, **{name: finding[name] for name in kept}}


def _measured(results: Sequence[PackageResult]) -> dict[str, Any]:
    rows = {result.pin.label: {"base": _cost(result.base), "head": _cost(result.head)} for result in results}
    pairs = [(r.base, r.head) for r in results if r.base is not None and not (r.base.broke or r.head.broke)]
    return {
        "packages": rows,
        "cpu_ratio": _ratio([(old.cpu_seconds, new.cpu_seconds) for old, new in pairs]),
        "cpu_ratio_of_the_sums": _ratio([(sum(o.cpu_seconds for o, _ in pairs), sum(n.cpu_seconds for _, n in pairs))]),
        "memory_ratio": _ratio([(old.peak_bytes, new.peak_bytes) for old, new in pairs]),
        "memory_ratio_largest": max((round(new.peak_bytes / old.peak_bytes, 3) for old, new in pairs), default=None),
        "cpu_ratio_largest": max((round(new.cpu_seconds / old.cpu_seconds, 3) for old, new in pairs), default=None),
    }


def _cost(side: Side | None) -> dict[str, float] | None:
    if side is None:
        return None
    return {"cpu_seconds": round(side.cpu_seconds, 3), "peak_mib": round(side.peak_bytes / _MIB, 1)}


def _ratio(pairs: Sequence[tuple[float, float]]) -> float | None:
    """The geometric mean of the ratios new to old."""
    logs = [math.log(new / old) for old, new in pairs if old and new]
    return round(math.exp(sum(logs) / len(logs)), 3) if logs else None


def markdown_of(document: dict[str, Any]) -> str:
    """The document for a person: the totals, what differs by rule, then what has to be judged."""
    base = document["base"]
    parts = [f"# Primer: {base} against {document['head']}" if base else f"# Primer: {document['head']}"]
    parts += [_totals(document), _rules(document, compared=bool(base))]
    parts += [_differences(document)] if base else []
    parts += [_listed("Blocking findings that nobody has judged", document["unjudged"])]
    parts += [_listed("Blocking findings judged false", document["false"])]
    if document["lost"]:
        rows = [f"- {e['rule']} {e['package']} `{e['path']}`:{e['line']}: {e['why']}" for e in document["lost"]]
        parts.append("## Judged true, and not blocking any more\n\n" + "\n".join(rows))
    if document["unstable"]:
        parts.append("## Two runs, two answers\n\n" + "\n".join(f"- {name}" for name in document["unstable"]))
    if document["broken"]:
        rows = [f"- {e['package']} ({e['side']})\n\n```\n{e['ending']}\n```" for e in document["broken"]]
        parts.append("## Scans that broke\n\n" + "\n".join(rows))
    return "\n\n".join(part for part in parts if part) + "\n"


def _totals(document: dict[str, Any]) -> str:
    packages, measured = document["packages"], document["measured"]
    changed = [each for each in packages if each["status"]["base"] not in (None, each["status"]["head"])]
    judged = ", ".join(f"{number} {name}" for name, number in document["judgements"].items())
    rows = [
        f"- {len(packages)} packages, {sum(each['findings'] for each in packages)} findings",
        f"- blocking (certain, critical or high): {judged}",
        f"- not followed: {sum(each['not_followed']['head'] for each in packages)}",
        f"- not analysed: {sum(each['not_analysed']['head'] for each in packages)}",
        f"- two runs gave the same bytes: {len(packages) - len(document['unstable'])} of {len(packages)}",
    ]
    if document["base"]:
        statuses = [f"{p['package']} {p['status']['base']} -> {p['status']['head']}" for p in changed]
        rows.append(f"- exit status: {', '.join(statuses) or 'the same everywhere'}")
        rows.append(
            f"- CPU: {measured['cpu_ratio']} times the base (geometric mean), "
            f"{measured['cpu_ratio_of_the_sums']} in all, {measured['cpu_ratio_largest']} at most"
        )
        rows.append(f"- peak memory: {measured['memory_ratio']} times, {measured['memory_ratio_largest']} at most")
    return "\n".join(rows)


def _rules(document: dict[str, Any], *, compared: bool) -> str:
    columns = ["findings", NEW, GONE, CHANGED] if compared else ["findings"]
    rows = [f"| Rule | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for rule, counts in document["rules"].items():
        rows.append(f"| {rule} | {' | '.join(str(counts[name]) for name in columns)} |")
    return "\n".join(rows)


def _differences(document: dict[str, Any]) -> str:
    if not document["differences"]:
        return "## Differences\n\nnone"
    parts = []
    for rule in sorted({each["rule"] for each in document["differences"]}):
        parts.append(f"## {rule}")
        rows = []
        for each in document["differences"]:
            if each["rule"] == rule:
                weights = " -> ".join(filter(None, (each["before"], each["after"])))
                rows.append(f"- **{each['kind']}** ({weights}) {_text(each)}")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def _listed(title: str, findings: list[dict[str, Any]]) -> str:
    if not findings:
        return ""
    rows = [f"- {each['rule']} {_text(each)}" + (f"  \n  {each['why']}" if "why" in each else "") for each in findings]
    return f"## {title}\n\n" + "\n".join(rows)


def _text(each: dict[str, Any]) -> str:
    snippet = "\n".join(f"      {line}" for line in each["snippet"].splitlines())
    return f"{each['package']} `{each['path']}`:{each['line']}: {each['message']}\n\n{snippet}\n"
