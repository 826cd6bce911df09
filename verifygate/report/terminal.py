"""What `verifygate run` prints when it is done: verdict, why, the stages in a line each, where to read on."""

from __future__ import annotations

from verifygate.model import Outcome, Report, StageResult, Verdict
from verifygate.report.escape import plain
from verifygate.report.view import origin_words, points

MOST_REASONS = 5


def summary(report: Report, folder: str) -> str:
    """The end of a run as a few lines of plain text."""
    lines = [f"{report.verdict}  {points(report.score)}/100  {plain(report.project)}"]
    for reason in report.reasons[:MOST_REASONS]:
        where = f"{plain(reason.path)}:{reason.line}: " if reason.path else ""
        lines.append(f"  {where}{plain(reason.text)}")
        if reason.action:
            lines.append(f"    -> {plain(reason.action)}")
    if len(report.reasons) > MOST_REASONS:
        lines.append(f"  and {len(report.reasons) - MOST_REASONS} more")
    lines += [f"  {_stage(stage)}" for stage in report.stages]
    lines += [
        f"  policy        {each.key} is {plain(each.value)} (default: {each.default})"
        for each in report.policy
        if not each.is_default
    ]
    if report.policy_origin:
        lines.append(f"  policy        {plain(origin_words(report.policy_origin), 400)}")
        lines += [
            f"    {plain(each.key)}: {plain(each.here)} in this change, {plain(each.there)} there"
            for each in report.policy_origin.differences[:MOST_REASONS]
        ]
        if (more := len(report.policy_origin.differences) - MOST_REASONS) > 0:
            lines.append(f"    and {more} more")
    lines.append(f"Reports: {folder}/gate.md")
    return "\n".join(lines)


def _stage(stage: StageResult) -> str:
    if stage.outcome is Outcome.NOT_APPLICABLE:
        return f"{stage.stage:<13} not applicable  {plain(stage.reason, 400)}"
    if stage.outcome is Outcome.ERRORED:
        return f"{stage.stage:<13} errored         {plain(stage.reason)}"
    waits = sum(check.status == "NOT MEASURED" for check in stage.checks)
    note = f"  {waits} not measured" if waits else ""
    mark = stage.verdict or Verdict.BLOCK
    return f"{stage.stage:<13} {mark:<6} {points(stage.score):>7}/100{note}"
