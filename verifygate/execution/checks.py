"""The checks on a run that took place: do the tests pass, did the required ones, what was skipped, warned, changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from verifygate.base.counts import counted
from verifygate.execution import dtype_errors
from verifygate.execution.outcomes import Judged
from verifygate.execution.remedies import for_failure, for_skips, without_cuda
from verifygate.execution.run_integrity import EVIDENCE_LIMIT, MOST_CAUSES, Account, by_cause, causes, names
from verifygate.model import Check, Evidence, EvidenceClass, Status, TestWarning

DEPRECATED_AMP = re.compile(r"\btorch\.(cuda|cpu)\.amp\b")
BEST_FIRST = ("passed", "xpassed", "flaky", "skipped", "xfailed", "started", "error", "failed")
LESS_THAN_FAILED = {
    "passed": Status.PASS,
    "xpassed": Status.PARTIAL,
    "flaky": Status.PARTIAL,
    "skipped": Status.NOT_MEASURED,
}
_PUT_ASIDE = ("skipped", "xfailed")
CUDA_WORDS = re.compile(r"\b(cuda|gpus?|nvidia)\b", re.IGNORECASE)


def tests_pass(account: Account, ran: Check) -> Check:
    """`execution.tests-pass`: nothing failed; evidence is the failing line of the test, and where it was raised.

    A run that did not go as it should (`ran`) shows failures, but never that there are none.
    """
    name, bad = "execution.tests-pass", account.bad
    passed = sum(one.test.outcome == "passed" for one in account.judged)
    stood = [one for one in bad if one.test.stood]
    new = [one for one in bad if not one.test.stood]
    if bad:
        parts = [f"{len(new)} did not pass: {causes(new)}{_history(new, account)}"] if new else []
        parts += [f"{len(stood)} red before, at {account.base}: {causes(stood)}"] if stood else []
        status, actual = Status.FAIL, "; ".join(parts)
        remedies = list(dict.fromkeys(_remedy_for(one, account) for one in by_cause([*new, *stood])))
        more = f"; and {len(remedies) - MOST_CAUSES} more" if len(remedies) > MOST_CAUSES else ""
        evidence, remedy = _failures([*new, *stood]), "; ".join(remedies[:MOST_CAUSES]) + more
    elif ran.status is not Status.PASS:
        status, actual = Status.NOT_MEASURED, f"{passed} passed, but the run proves nothing: see {ran.id}"
        evidence, remedy = iter(()), ran.remedy
    elif not passed:
        status, actual = Status.NOT_MEASURED, "none failed, but none passed either"
        evidence, remedy = iter(()), "let at least one test run and pass"
    elif account.flaky:
        status, actual = Status.PARTIAL, f"{passed} passed, {len(account.flaky)} flaky: {names(account.flaky)}"
        evidence, remedy = (
            _failures(account.flaky),
            "find what it depends on besides the code it tests: other tests, time, chance",
        )
    else:
        status, actual = Status.PASS, f"{passed} passed, none failed"
        summary = f"{counted(passed, 'test')} passed, as the plugin inside the run saw"
        evidence, remedy = iter((_fact(summary, "", 0),)), ""
    return Check(
        id=name,
        title="No test fails",
        status=status,
        weight=5,
        expected="no test fails, ends in an error, does not end or is flaky",
        actual=actual,
        evidence=_numbered(name, evidence),
        inherited=_red_before(account) if stood and not new and ran.status is Status.PASS else "",
        remedy=remedy,
    )


def _remedy_for(one: Judged, account: Account) -> str:
    """What to do about the cause of a failure: about what the machine lacks, a fault of the program, or the test."""
    if lacking := for_failure(one.test.reason, account.interpreter, account.scrubber.root):
        return lacking
    return one.ending.remedy if one.ending is not None else "correct the code at the line shown, or the test"


def _red_before(account: Account) -> str:
    return f"what did not pass was red before, at {account.base}, and this change does not touch it"


def _history(new: Sequence[Judged], account: Account) -> str:
    """What is known of the first of these tests before the change."""
    if account.base_problem:
        return f"; whether it was so before is not known: {account.base_problem}"
    test = new[0].test
    if test.before is None:
        return ""
    if test.before == "absent":
        return f"; {test.id} was not there at {account.base}"
    more = " in another way, or this change alters the test" if test.before in ("failed", "error") else ""
    return f"; {test.id} {test.before} at {account.base}{more}"


def required_tests(account: Account, required: Sequence[str]) -> Check:
    """`execution.required-tests`: each id or beginning of ids that the settings name has run and passed."""
    title, expected = "The required tests ran and passed", f"{len(required)} named in `execution.required` all passed"
    if not required:
        return Check(
            id="execution.required-tests",
            title=title,
            status=Status.NOT_APPLICABLE,
            weight=2,
            actual="`execution.required` names none",
        )
    answers = [_required(name, account) for name in required]
    if account.doubtful:
        lowered = {Status.PASS: Status.NOT_MEASURED, Status.PARTIAL: Status.NOT_MEASURED}
        answers = [(lowered.get(status, status), evidence) for status, evidence in answers]
    order = (Status.FAIL, Status.NOT_MEASURED, Status.PARTIAL, Status.PASS)
    worst = min((status for status, _ in answers), key=order.index)
    lacking = [evidence for status, evidence in answers if status is not Status.PASS]
    bad = [name for name, (status, _) in zip(required, answers, strict=True) if status is not Status.PASS]
    stood = bool(bad) and not account.doubtful and all(_stood(name, account) for name in bad)
    return Check(
        id="execution.required-tests",
        title=title,
        status=worst,
        weight=2,
        expected=expected,
        actual=f"{len(required) - len(lacking)} of {len(required)} ran and passed"
        + "".join(f"; {evidence.summary}" for evidence in lacking[:5]),
        evidence=_numbered("execution.required-tests", (evidence for _, evidence in answers)),
        inherited=_red_before(account) if stood else "",
        remedy="" if worst is Status.PASS else _remedy_for_required(required, account),
    )


def no_warnings(warnings: Sequence[TestWarning], account: Account) -> Check:
    """`execution.warnings`: no warning about AMP interfaces that torch is going to remove."""
    deprecated = [one for one in warnings if one.category == "FutureWarning" and DEPRECATED_AMP.search(one.message)]
    total = sum(one.count for one in warnings)
    status = Status.PARTIAL if deprecated else Status.PASS if account.executed else Status.NOT_MEASURED
    return Check(
        id="execution.warnings",
        title="No warning about deprecated AMP interfaces",
        status=status,
        required=False,
        expected="no FutureWarning that names torch.cuda.amp or torch.cpu.amp",
        actual=f"{counted(len(deprecated), 'deprecation')} of AMP interfaces; {counted(total, 'warning')} in all",
        evidence=_numbered(
            "execution.warnings",
            (_fact(f"{one.category}: {one.message}", one.path, one.line) for one in deprecated),
        ),
        remedy="use torch.amp.autocast and torch.amp.GradScaler with the device type" if deprecated else "",
    )


def none_skipped(account: Account) -> Check:
    """`execution.skipped`: what was skipped, deselected or expected to fail is listed with its reason."""
    kinds = ("skipped", "xfailed", "xpassed")
    aside = [one for one in account.judged if one.test.outcome in kinds]
    without_cuda = [one for one in aside if one.test.outcome == "skipped" and CUDA_WORDS.search(one.test.reason)]
    deselected = account.record.deselected
    parts = [f"{total} {kind}" for kind in kinds if (total := sum(one.test.outcome == kind for one in aside))]
    parts += [f"{len(without_cuda)} of the skipped for want of CUDA"] if without_cuda else []
    parts += [f"{len(deselected)} deselected"] if deselected else []
    status = Status.PARTIAL if parts else Status.PASS if account.executed else Status.NOT_MEASURED
    ran = [one for one in aside if one.test.before not in (None, "absent", *_PUT_ASIDE)]
    newly = [one for one in ran if "::" in one.test.id]  # of whole files `tests-collected` tells, test by test
    unknown = bool(account.base_problem) and bool(aside)
    if newly:
        parts.append(f"{len(newly)} newly so since {account.base}: {names(newly)}")
    if unknown:
        parts.append(f"whether they were so before is not known: {account.base_problem}")
    first = [*without_cuda, *(one for one in aside if one not in without_cuda)]
    first.sort(key=lambda one: one not in newly)
    facts = [_fact(_aside(one, one in without_cuda), one.test.path, one.test.line) for one in first]
    facts += [_fact(f"{test}: deselected", "", 0) for test in sorted(map(account.scrubber.identity, deselected))]
    return Check(
        id="execution.skipped",
        title="No test is skipped, deselected or expected to fail",
        status=status,
        required=bool(newly) or unknown,
        expected="every collected test is executed and expected to pass",
        actual=", ".join(parts) or ("none" if account.executed else "no test was executed"),
        evidence=_numbered("execution.skipped", facts),
        remedy=(_NEWLY if newly or unknown else _remedy_for_skips(aside)) if parts else "",
    )


def tree_unchanged(changed: Sequence[str], added: Sequence[str], in_git: Sequence[str]) -> Check:
    """`execution.tree-unchanged`: the audited files and what decides in `.git` are as they were before the tests."""
    facts = [_fact(f"of git's own: {name}", "", 0) for name in in_git]
    facts += [_fact("differs from what the gate read before the tests", path, 0) for path in changed]
    facts += [_fact("was not there before the tests", path, 0) for path in added]
    shown = ", ".join(in_git[:10]) + (f" and {len(in_git) - 10} more" if len(in_git) > 10 else "")
    words = [f"git was changed, and git runs what stands there: {shown}"] if in_git else []
    words += [f"changed or removed: {', '.join(changed[:10])}"] if changed else []
    words += [f"added: {', '.join(added[:10])}"] if added else []
    return Check(
        id="execution.tree-unchanged",
        title="The tests leave the audited files alone",
        status=Status.FAIL if changed or in_git else Status.PARTIAL if added else Status.PASS,
        expected="the audited files, the configuration and git's own files are the same before and after the tests",
        actual="; ".join(words) or "unchanged",
        evidence=_numbered("execution.tree-unchanged", facts or [_fact("digests before and after are equal", "", 0)]),
        remedy=_LOOK_FIRST if in_git else _WRITE_ELSEWHERE if facts else "",
    )


_WRITE_ELSEWHERE = (
    "let tests write below `tmp_path` only; everything else in this report may speak of the older content"
)
_LOOK_FIRST = (
    "read these files before you use git here; let tests work in repositories of their own below `tmp_path`; "
    "if it was you who worked in this repository meanwhile, run again"
)


def _required(name: str, account: Account) -> tuple[Status, Evidence]:
    """How the tests that one required name stands for ended."""
    mine = [one for one in account.judged if stands_for(name, one.test.id)]
    if not mine:
        parent = next((one for one in account.judged if stands_for(one.test.id, name)), None)
        why = f"{parent.test.outcome} as a whole: {parent.test.reason}" if parent else "not collected, or deselected"
        place = (parent.test.path, parent.test.line) if parent else ("", 0)
        broken = parent is not None and parent.test.outcome == "error"
        return (Status.FAIL if broken else Status.NOT_MEASURED), _fact(f"{name}: {why}", *place)
    rank = {name: place for place, name in enumerate(BEST_FIRST)}
    worst = max(mine, key=lambda one: rank[one.test.outcome]).test
    status = LESS_THAN_FAILED.get(worst.outcome, Status.FAIL)
    if worst.outcome == "started" and account.out_of_time:
        status = Status.NOT_MEASURED
    waiting = [test for test in account.not_started if stands_for(name, test)]
    if waiting and status is not Status.FAIL:
        return Status.NOT_MEASURED, _fact(f"{name}: {waiting[0]} did not run", "", 0)
    if status is Status.PASS:
        return status, _fact(f"{name}: {len(mine)} passed", worst.path, worst.line)
    reason = f" ({worst.reason})" if worst.reason else ""
    return status, _fact(f"{worst.id}: {worst.outcome}{reason}", worst.path, worst.line)


def _stood(name: str, account: Account) -> bool:
    """Whether all that one required name lacks was so before the change."""
    mine = [one.test for one in account.judged if stands_for(name, one.test.id) and one.test.outcome != "passed"]
    return bool(mine) and all(test.stood for test in mine)


def stands_for(name: str, test: str) -> bool:
    """Whether `name` is the test's id or a beginning of it that ends where a part of the id ends.

    `tests/test_a.py::test_x` stands for `test_x[fp16]` but not for `test_xy`: a removed test must not hide behind
    another one that happens to begin alike.
    """
    if not test.startswith(name):
        return False
    rest = test[len(name) :]
    return not rest or rest.startswith(("::", "[", "/")) or name.endswith(("::", "[", "/"))


def _failures(bad: Sequence[Judged]) -> Iterator[Evidence]:
    """The first failure of each cause, then the others."""
    first = by_cause(bad)
    for one in (*first, *(each for each in bad if each not in first)):
        path, line = one.failed_at or ("", 0)
        yield _fact(f"{one.test.id}: {one.test.reason or one.test.outcome}", path, line)
        if one.raised_at:
            yield _fact(f"{one.test.id}: raised here", *one.raised_at)
        if (error := one.test.dtype_error) is not None:
            told = (line.strip() for line in dtype_errors.lines(error))
            yield _fact(f"{one.test.id}: {'; '.join(told)}", error.path, error.line)


def _aside(one: Judged, for_want_of_cuda: bool) -> str:
    words = f"{one.test.outcome} for want of CUDA" if for_want_of_cuda else one.test.outcome
    return f"{one.test.id}: {words}" + (f" ({one.test.reason})" if one.test.reason else "")


_NEWLY = "let these tests run as they did before the change, or waive `execution.skipped` with a reason and a date"


def _remedy_for_skips(aside: Sequence[Judged]) -> str:
    """What the skips ask for, each by its own reason; CUDA by a sentence of ours."""
    skipped = [one.test.reason for one in aside if one.test.outcome == "skipped"]
    others = [reason for reason in skipped if not CUDA_WORDS.search(reason)]
    told = [without_cuda(emulated=True)] if len(others) < len(skipped) else []
    told += [for_skips(others)] if others else []
    return "; ".join([*told, "remove marks that no longer hold"])


def _remedy_for_required(required: Sequence[str], account: Account) -> str:
    """What required tests lack: what their skips ask for, else a right id."""
    mine = [one for one in account.judged if any(stands_for(name, one.test.id) for name in required)]
    if any(one.test.outcome == "skipped" for one in mine):
        return _remedy_for_skips(mine)
    return "let these tests run and pass, or correct their ids"


def _fact(summary: str, path: str, line: int) -> Evidence:
    return Evidence(id="", kind=EvidenceClass.EXECUTED, summary=summary, path=path or None, line=line or None)


def _numbered(check: str, facts: Iterable[Evidence]) -> tuple[Evidence, ...]:
    kept = list(facts)[:EVIDENCE_LIMIT]
    return tuple(fact.model_copy(update={"id": f"E-{check}-{number}"}) for number, fact in enumerate(kept, 1))
