"""What `verifygate run` prints when it is done: verdict, why, the stages in a line each, where to read on."""

from __future__ import annotations

import textwrap

from verifygate.base.counts import counted
from verifygate.model import Check, Outcome, Report, StageResult, StaticDetails, Status, Verdict, WaiverState
from verifygate.report import trend
from verifygate.report.causes import causes
from verifygate.report.escape import LONG, plain
from verifygate.report.filters import advisory_words, baseline_words, origin_words
from verifygate.report.phrases import left_out_words, statuses, tally
from verifygate.report.quantities import points
from verifygate.report.view import View

MOST_REASONS = 5
WIDTH = 160
"""Characters of the line that a reason has."""


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
        lines += [f"{'    ' if at else '  '}{line}" for at, line in enumerate(folded(where, plain(reason.text, LONG)))]
        if reason.action:
            lines.append(f"    -> {plain(reason.action, LONG)}")
        if cause.also:
            lines.append(f"    for the same cause: {plain(', '.join(cause.also), LONG)}")
    if len(every) > MOST_REASONS:
        lines.append(f"  and {len(every) - MOST_REASONS} more")
    lines += [f"  {_stage(stage)}" for stage in report.stages]
    if kept := View(report).kept:
        lines.append(f"  kept          {plain(kept, LONG)}")
    if left := View(report).static.left_out:
        lines.append(f"  left out      {left_out_words(left, '')}")
    lines += _changed(report)
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
    if report.run.history:
        lines.append(f"  history       {trend.words(report.run.history)}")
    lines.append(f"Reports: {folder}/gate.md" if folder else "Interrupted: no report was written.")
    return "\n".join(lines)


def folded(where: str, text: str) -> list[str]:
    """A reason: what it is in one line, and how it is known below, where both do not fit into it.

    It is parted where its author parted it, at a semicolon outside of code.
    """
    ends = [at for at, letter in enumerate(text) if letter == ";" and text.count("`", 0, at) % 2 == 0]
    if len(where) + len(text) <= WIDTH or not ends:
        return [f"{where}{text}"]
    first = max((at for at in ends if len(where) + at <= WIDTH), default=ends[0])
    return [f"{where}{text[:first]}", *textwrap.wrap(text[first + 1 :].strip(), WIDTH, break_long_words=False)]


def _changed(report: Report) -> list[str]:
    """What a change did to the findings: how many it brings, leaves and mends."""
    changes = report.changes
    if changes is None:
        return []
    parts = (
        (changes.new, "new"),
        (changes.open, "there before"),
        (changes.fixed, "fixed"),
        (changes.removed, "removed with the file"),
    )
    told = ", ".join(f"{len(found)} {word}" for found, word in parts if found)
    moved = [f"  precision     {plain(each, LONG)}" for each in changes.precision[:MOST_REASONS]]
    if (unnamed := len(changes.precision) - MOST_REASONS) > 0:
        moved.append(f"    and {unnamed} more")
    if not told:
        return moved
    mended = [f"    fixed: {plain(each.path)}: {each.rule} {each.name}" for each in changes.fixed[:MOST_REASONS]]
    more = len(changes.fixed) - MOST_REASONS
    return [f"  change        {told}", *mended, *([f"    and {more} more"] if more > 0 else []), *moved]


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


def _waits(check: Check) -> bool:
    return check.status is Status.NOT_MEASURED


def _stage(stage: StageResult) -> str:
    if stage.outcome is Outcome.NOT_APPLICABLE:
        return f"{stage.stage:<13} not applicable  {plain(stage.reason, LONG)}"
    if stage.outcome is Outcome.ERRORED:
        return f"{stage.stage:<13} errored         {plain(stage.reason, LONG)}"
    waits = sum(map(_waits, stage.checks))
    optional = stage.verdict is Verdict.PASS and not any(check.required for check in stage.checks if _waits(check))
    note = f"  {waits} not measured{', none of them required' if optional else ''}" if waits else ""
    if isinstance(stage.details, StaticDetails) and stage.details.not_followed:
        note += f"  {counted(len(stage.details.not_followed), 'place')} not followed"
    mark = stage.verdict or Verdict.BLOCK
    return f"{stage.stage:<13} {mark:<6} {points(stage.score):>7}/100{note}"
