"""Rerun the tests that failed, alone and in a fresh process, to tell a flaky test from a broken one."""

from __future__ import annotations

from dataclasses import replace

from verifygate.execution.outcomes import Judged
from verifygate.execution.session import SessionOptions, bounds_of, run_pytest
from verifygate.execution.steps import Watched, account_of
from verifygate.model import TestOutcome

MOST = 50
"""Where more tests fail than this, chance is not the reason."""
LEAST_SECONDS = 1.0


def run_again(watched: Watched) -> Watched:
    """The run with what its failed tests did the second time; both outcomes are kept.

    The second run gets what is left of the first one's time. One that cannot be believed clears nobody.
    """
    settings, context = watched.context.settings.execution, watched.context
    failed = {one.test.id for one in watched.account.judged if one.test.outcome in ("failed", "error")}
    only = [test for test in watched.account.record.items or {} if watched.scrubber.identity(test) in failed]
    left = settings.seconds - watched.session.completed.seconds
    if not (settings.retry and 0 < len(only) <= MOST) or left < LEAST_SECONDS or watched.account.doubtful:
        return watched
    context.progress(f"running {len(only)} of them again, alone")
    folder = watched.folder / "again"
    folder.mkdir()
    session = run_pytest(
        context.subject,
        watched.arguments,
        folder=folder,
        bounds=bounds_of(settings, left),
        options=SessionOptions(only=only),
    )
    account, _ = account_of(session, watched.scrubber)
    second = {} if account.doubtful else {one.test.id: one.test for one in account.judged}
    judged = [_both(one, second.get(one.test.id)) if one.test.id in failed else one for one in watched.account.judged]
    return replace(watched, account=replace(watched.account, judged=judged))


def _both(first: Judged, second: TestOutcome | None) -> Judged:
    if second is None:
        return first
    test = first.test.model_copy(update={"again": second.outcome})
    if second.outcome == "passed":
        reason = f"{first.test.outcome} in the run ({first.test.reason}), passed alone in a fresh process"
        test = test.model_copy(update={"outcome": "flaky", "reason": reason})
    return replace(first, test=test)
