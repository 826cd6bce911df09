"""What `verifygate run` prints when it is done: verdict, why, the stages in a line each, where to read on."""

from __future__ import annotations

from verifygate.base.counts import counted
from verifygate.model import Outcome, Report, StageResult, StaticDetails, Verdict, WaiverState
from verifygate.report.causes import causes
from verifygate.report.escape import LONG, plain
from verifygate.report.filters import advisory_words, baseline_words, origin_words
from verifygate.report.phrases import statuses, tally
from verifygate.report.quantities import points
from verifygate.report.view import View

MOST_REASONS = 5


def summary(report: Report, folder: str) -> str:
    """The end of a run as a few lines of plain text; `folder` is empty where no report was written."""
    score = "not scored" if report.score is None else f"{points(report.score)}/100"
    lines = [f"{View(report).verdict_in_words}  {score}  {plain(report.project)}"]
    if untrained := View(report).untrained:
        lines.append(f"  not run       {untrained[0].lower()}{untrained[1:]}")
    lines += _programs(View(report))
    if isolation := View(report).asked_isolation:
        lines.append(f"  isolation     {plain(isolation, LONG)}")
    if report.event:
        lines.append(f"  event         {plain(report.event, LONG)}")
    if report.advisory:
        lines.append(f"  advisory      {advisory_words(report.advisory)}")
    every = causes(report.reasons)
    for cause in every[:MOST_REASONS]:
        reason = cause.reason
        where = f"{plain(reason.path)}{f':{reason.line}' if reason.line else ''}: " if reason.path else ""
        lines.append(f"  {where}{plain(reason.text, LONG)}")
        if reason.action:
            lines.append(f"    -> {plain(reason.action, LONG)}")
        if cause.also:
            lines.append(f"    for the same cause: {plain(', '.join(cause.also), LONG)}")
    if len(every) > MOST_REASONS:
        lines.append(f"  and {len(every) - MOST_REASONS} more")
    lines += [f"  {_stage(stage)}" for stage in report.stages]
    lines += _left_open(report)
    lines += [
        f"  policy        {each.key} is {plain(each.value)} (default: {each.default})"
        for each in report.policy
        if not each.is_default
    ]
    if report.policy_origin:
        lines.append(f"  policy        {plain(origin_words(report.policy_origin), LONG)}")
        lines += [
            f"    {plain(each.key)}: {plain(each.here)} in this change, {plain(each.there)} there"
            for each in report.policy_origin.differences[:MOST_REASONS]
        ]
        if (more := len(report.policy_origin.differences) - MOST_REASONS) > 0:
            lines.append(f"    and {more} more")
    told = {reason.check for reason in report.reasons}
    lines += [
        f"  waiver        of {plain(', '.join(use.waiver.checks))} cannot apply: nothing waives a failure"
        for use in report.waivers
        if use.state is WaiverState.CANNOT_APPLY and told.isdisjoint(use.waiver.checks)
    ]
    if report.baseline:
        lines.append(f"  baseline      {plain(baseline_words(report.baseline), LONG)}")
    suppressed = report.changes.suppressed if report.changes else ()
    lines += [f"  suppressed    by this change: {plain(each, LONG)}" for each in suppressed[:MOST_REASONS]]
    if (more := len(suppressed) - MOST_REASONS) > 0:
        lines.append(f"    and {more} more")
    lines.append(f"Reports: {folder}/gate.md" if folder else "Interrupted: no report was written.")
    return "\n".join(lines)


def _programs(view: View) -> list[str]:
    """What trains in the project: started because somebody asked for it, or found and left alone."""
    lines = [f"  found         {plain(each.command, LONG)} was started (--entries found)" for each in view.started]
    if view.what_trains:
        lines.append(f"  found         {plain(view.what_trains, LONG)}")
        lines.append(f"    -> {plain(view.how_to_train, LONG)}")
    return lines


def _left_open(report: Report) -> list[str]:
    """What a PASS does not show: what was suppressed, deselected, waived or not measured must not pass in silence."""
    if report.verdict is not Verdict.PASS:
        return []
    view = View(report)
    found = view.left_singly
    old = view.spared
    told = [f"  not new       {counted(len(old), 'finding')} ({tally(old)}), present before this change"] if old else []
    if view.without_amp:
        told.append(f"  nothing       {view.without_amp}")
    if view.findings:
        told.append(f"  findings      {tally(view.findings)}; none of them blocks")
    told += [
        f"  not shown     {plain(asked.check.id)} is {asked.check.status}: {plain(view.actual(asked.check), LONG)}"
        for asked in found[:MOST_REASONS]
    ]
    told += [
        f"  not shown     {stage}: {statuses([each.check for each in checks])}, none of which blocks by itself"
        for stage, checks in view.gathered.items()
    ]
    more = len(found) - MOST_REASONS
    return [*told, f"    and {more} more"] if more > 0 else told


def _stage(stage: StageResult) -> str:
    if stage.outcome is Outcome.NOT_APPLICABLE:
        return f"{stage.stage:<13} not applicable  {plain(stage.reason, LONG)}"
    if stage.outcome is Outcome.ERRORED:
        return f"{stage.stage:<13} errored         {plain(stage.reason, LONG)}"
    waits = sum(check.status == "NOT MEASURED" for check in stage.checks)
    note = f"  {waits} not measured" if waits else ""
    if isinstance(stage.details, StaticDetails) and stage.details.not_followed:
        note += f"  {counted(len(stage.details.not_followed), 'place')} not followed"
    mark = stage.verdict or Verdict.BLOCK
    return f"{stage.stage:<13} {mark:<6} {points(stage.score):>7}/100{note}"
