"""Quality gates: shares of what was proved, each with its denominator. They inform; the requirements block."""

from __future__ import annotations

from collections.abc import Sequence

from verifygate.model import Calculation, PolicySetting, QualityGate, RequirementResult, Status
from verifygate.requirements.spec import Thresholds

Named = tuple[str, Status]


def quality_gates(
    rows: Sequence[RequirementResult], calculations: Sequence[Calculation], ask: Thresholds
) -> tuple[QualityGate, ...]:
    """The gates in the order in which the report prints them."""
    return (
        _gate("Requirements coverage", ask.coverage, [(row.id, row.status) for row in rows]),
        _gate("Critical requirements", ask.critical, _of(rows, severity="critical")),
        _gate(
            "Calculations correct",
            ask.calculations,
            [
                (line.measurement or line.title, line.status)
                for line in calculations
                if line.status is not Status.NOT_APPLICABLE
            ],
        ),
        _gate("Edge cases handled", ask.edge_cases, _of(rows, group="edge-case")),
        _gate("Regulatory compliance", ask.regulatory, _of(rows, group="regulatory")),
        _gate("Data integrity", 1, _of(rows, group="data-integrity"), threshold="no violation"),
    )


def gates_policy(ask: Thresholds) -> tuple[PolicySetting, ...]:
    """The share that each gate of a specification asks for, beside the one where the specification sets none."""
    default = Thresholds()
    return tuple(
        PolicySetting(key=f"gates.{name}", value=_share(getattr(ask, name)), default=_share(getattr(default, name)))
        for name in Thresholds.model_fields
    )


def _share(share: float) -> str:
    return f"{share * 100:g} %"


def _of(rows: Sequence[RequirementResult], *, group: str = "", severity: str = "") -> list[Named]:
    return [(row.id, row.status) for row in rows if group in ("", row.group) and severity in ("", row.severity)]


def _gate(title: str, share: float, parts: Sequence[Named], threshold: str = "") -> QualityGate:
    """Only PASS counts. Short of the threshold it is FAIL, unless what is still open could make it up."""
    passed = sum(1 for _, status in parts if status is Status.PASS)
    failed = sum(1 for _, status in parts if status is Status.FAIL)
    needed = share * len(parts) - 1e-9
    if not parts:
        status = Status.NOT_APPLICABLE
    elif passed >= needed:
        status = Status.PASS
    else:
        status = Status.FAIL if len(parts) - failed < needed else Status.NOT_MEASURED
    return QualityGate(
        title=title, threshold=threshold or f">= {_share(share)}", actual=_counts(parts, passed), status=status
    )


def _counts(parts: Sequence[Named], passed: int) -> str:
    """`7 of 8 PASS (87.5 %); PARTIAL: AMP-04`: whatever is not PASS stands beside the number by name."""
    if not parts:
        return "0 of 0: nothing of this kind is asked for"
    share = passed * 1000 // len(parts) / 10  # cut off, never rounded up to a threshold that was missed
    told = [f"{passed} of {len(parts)} PASS ({share:g} %)"]
    for status in (Status.FAIL, Status.PARTIAL, Status.NOT_MEASURED):
        if names := [name for name, ended in parts if ended is status]:
            told.append(f"{status}: {', '.join(names)}")
    return "; ".join(told)
