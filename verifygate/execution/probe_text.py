"""A probe's report as text for a terminal."""

from __future__ import annotations

from verifygate.base.counts import counted
from verifygate.execution import compiled, dtype_errors, health_text, numerics
from verifygate.model import Finding, LowPrecision, ScaleChange, TraceSummary
from verifygate.model.probe_report import ProbeReport

SHOWN_SCALES = 12
SHOWN_ISLANDS = 5


def text(report: ProbeReport) -> str:
    """What was seen, then each violation with its place and events, then the outcome in one line."""
    trace = report.trace
    rows = [
        ("run", f"{' '.join(report.command)} ({report.ending})"),
        ("torch", report.torch or "never imported"),
        ("evidence", report.evidence.value),
        ("autocast", ", ".join(trace.devices) or "never on"),
        ("optimizers", "; ".join(trace.optimizers) or "none"),
        ("steps", _steps(trace)),
        ("loss scale", _scale(trace)),
        ("half precision", _share(trace)),
        *(("ranks", line) for line in _ranks(trace)),
        ("events", f"{trace.events} judged" + (f", {trace.dropped} dropped" if trace.dropped else "")),
    ]
    width = max(len(label) for label, _ in rows)
    lines = [f"{label:{width}}  {value}" for label, value in rows]
    lines += [f"not float32: {line}" for line in trace.not_float32]
    lines += [f"updates: {one.in_words}" for one in trace.updates]
    if trace.low_precision is not None:
        lines += _islands(trace.low_precision)
    lines += [f"note: {remark}" for remark in trace.remarks]
    if report.numerics is not None:
        lines += numerics.lines(report.numerics)
    if report.health is not None:
        lines += health_text.lines(report.health)
    if report.compiled is not None:
        lines += compiled.lines(report.compiled)
    if report.dtype_error is not None:
        lines += ["", *dtype_errors.lines(report.dtype_error)]
    for finding in report.findings:
        lines += ["", *_breach(finding)]
    lines += ["", _last(report)]
    return "\n".join(lines)


def _ranks(trace: TraceSummary) -> list[str]:
    """What each rank did, one line a rank."""
    lines = []
    for rank in trace.ranks:
        scale = f", scale {rank.scale_last:g}" if rank.scale_last is not None else ""
        norm = f", last clip by norm {rank.norm_last:.6g}" if rank.norm_last is not None else ""
        lines.append(f"{rank.rank} of {rank.world}: {counted(rank.steps, 'step')}, {rank.skipped} skipped{scale}{norm}")
    return lines


def _steps(trace: TraceSummary) -> str:
    words = f"{trace.steps}, of which {trace.skipped} skipped by the scaler"
    return words + (f" ({trace.unknown} not known: fused on a device)" if trace.unknown else "")


def _scale(trace: TraceSummary) -> str:
    if not trace.scales:
        return "not read" if dict(trace.counts).get("scale") else "no live scaler"
    scalers = dict.fromkeys(change.scaler for change in trace.scales)
    ways = [_way([change for change in trace.scales if change.scaler == scaler]) for scaler in scalers]
    return "; ".join(ways if len(ways) == 1 else (f"scaler {n}: {way}" for n, way in zip(scalers, ways, strict=True)))


def _way(changes: list[ScaleChange]) -> str:
    shown = " -> ".join(f"{change.scale:g} (step {change.step})" for change in changes[:SHOWN_SCALES])
    more = len(changes) - SHOWN_SCALES
    return shown + (f" and {more} more changes, last {changes[-1].scale:g}" if more > 0 else "")


def _share(trace: TraceSummary) -> str:
    sample = trace.low_precision
    if sample is None:
        return f"NOT MEASURED: {trace.not_sampled}"
    share = f"{sample.share:.1%} of the FLOPs, " if sample.share is not None else ""
    words = (
        f"{share}{sample.low_operations} of {sample.operations} matrix operations, in {counted(sample.steps, 'step')}"
    )
    missing = f"; no FLOPs known for {', '.join(sample.uncounted)}" if sample.uncounted else ""
    return f"{words}; {sample.casts_per_step:g} casts a step{missing}"


def _islands(sample: LowPrecision) -> list[str]:
    kept = [island for island in sample.islands if island.autocast][:SHOWN_ISLANDS]
    return [
        f"float32 under autocast: {island.path}:{island.line} {island.operator}, {island.count} times"
        for island in kept
    ]


def _breach(finding: Finding) -> list[str]:
    head = f"{finding.path}:{finding.line}: {finding.rule} {finding.name} [{finding.severity}, {finding.certainty}]"
    lines = [f"{head} {finding.message}", f"    {finding.run}", f"    remedy: {finding.remedy}"]
    return lines + [f"    {step.path}:{step.line}  {step.text}" for step in finding.steps]


def _last(report: ProbeReport) -> str:
    words = {"violations": counted(len(report.findings), "violation", "violations")}.get(
        report.outcome, str(report.outcome)
    )
    return words + (f": {report.reason}" if report.reason else "")
