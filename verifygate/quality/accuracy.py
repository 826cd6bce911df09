"""How right the static rules are on labelled real code: recall on known bugs, false alarms on code known to be clean.

The labels are a JSON list of rows: repo, commit, path, line, class, verdict (`bug` or `clean`), and where given `also`
(other lines of the same fault) and `exempt` (classes that may rightly be reported in a clean file). A row may also be a
fault with its fix: `before_commit` and `line_before` instead of commit and line, and `after_commit`, where the file has
nothing of that class any more.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError

from verifygate.base.errors import UsageError
from verifygate.config.settings import StaticSettings
from verifygate.model import Certainty, Finding, Model, Severity
from verifygate.sources.discovery import read_sources
from verifygate.sources.git import files_at
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

TOLERANCE = 3
"""Lines by which a label and a finding may differ: a label names the call, a finding the statement, or the reverse."""

CLASSES: dict[str, list[str]] = json.loads(
    resources.files(__package__).joinpath("label_classes.json").read_text(encoding="utf-8")
)
"""Class of a label -> the rules that answer to it. A label of another class has no rule and is not scored."""


class Case(Model):
    """One label."""

    model_config = ConfigDict(extra="ignore")

    repo: str
    commit: str
    path: str
    line: int
    verdict: str
    """`bug`; `fixed`: the file is clean of that class; anything else: the file is clean."""
    also: tuple[int, ...] = ()
    exempt: tuple[str, ...] = ()
    label: str = ""

    @property
    def rules(self) -> frozenset[str]:
        return frozenset(CLASSES.get(self.label, ()))


@dataclass(frozen=True)
class Judged:
    """A label, and what the rules said at its place."""

    case: Case
    right: bool
    findings: tuple[Finding, ...]
    """For a bug the findings that match it; for clean or fixed code the false alarms."""


def read_cases(path: Path) -> list[Case]:
    """The labels of a file. Raises UsageError."""
    try:
        rows = [half for row in json.loads(path.read_text(encoding="utf-8")) for half in _halves(row)]
        return TypeAdapter(list[Case]).validate_python([{**row, "label": row.get("class", "")} for row in rows])
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise UsageError(problem, where=str(path), remedy="give a file of labels") from None
    except (json.JSONDecodeError, TypeError, AttributeError, ValidationError) as error:
        first = str(error).splitlines()[0]
        raise UsageError(f"not a list of labels: {first}", where=str(path), remedy="see the docs on accuracy") from None


def _halves(row: dict[str, object]) -> list[dict[str, object]]:
    """A row as it is; a fault with its fix as two, one for each commit."""
    if "before_commit" not in row:
        return [row]
    line = row.get("line_before")
    before = {"commit": row["before_commit"], "line": line, "verdict": "bug"}
    after = {"commit": row.get("after_commit"), "line": line, "verdict": "fixed"}
    return [row | before, row | after]


def judge(cases: Iterable[Case], checkouts: Path) -> tuple[list[Judged], list[Case]]:
    """Every label with a rule, judged; and the labels whose checkout is not there."""
    grouped: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in cases:
        if case.rules:
            grouped[case.repo, case.commit].append(case)
    judged: list[Judged] = []
    absent: list[Case] = []
    for (repo, commit), group in sorted(grouped.items()):
        sources = find_checkout(checkouts, repo, commit)
        if sources is None or not len(sources):
            absent += group
            continue
        findings = analyse(sources, StaticSettings()).findings
        judged += [_judged(case, findings) for case in group]
    return judged, absent


def _judged(case: Case, findings: Iterable[Finding]) -> Judged:
    if case.verdict == "bug":
        hits = [each for each in findings if each.rule in case.rules and _names(each, case)]
        return Judged(case, bool(hits), tuple(hits))
    here = [finding for finding in findings if finding.path == case.path]
    if case.verdict == "fixed":
        left = tuple(each for each in here if each.rule in case.rules)
        return Judged(case, not left, left)
    exempt = {rule for label in case.exempt for rule in CLASSES.get(label, [label])}
    alarms = [
        each
        for each in here
        if each.certainty is Certainty.CERTAIN
        and each.severity in (Severity.CRITICAL, Severity.HIGH)
        and each.rule not in exempt
    ]
    return Judged(case, not alarms, tuple(alarms))


def _names(finding: Finding, case: Case) -> bool:
    """Whether a finding stands where a label says or names it as one more place, or leads past there from another file.

    Where a helper's body is at fault, or the region around a call of it, a label names the one and a finding the other.
    """
    spans = [(each.line, each.end_line) for each in finding.locations if each.path == case.path]
    if finding.path != case.path:
        spans += [(step.line, step.line) for step in finding.steps if step.path == case.path]
    lines = (case.line, *case.also)
    return any(first - TOLERANCE <= line <= last + TOLERANCE for first, last in spans for line in lines)


def table(judged: list[Judged], absent: list[Case]) -> str:
    """The result as text: a line a class, then the totals, then every label that was missed or wrongly accused."""
    bugs = [each for each in judged if each.case.verdict == "bug"]
    fixed = [each for each in judged if each.case.verdict == "fixed"]
    clean = [each for each in judged if each.case.verdict not in ("bug", "fixed")]
    rows = []
    for label in sorted({each.case.label for each in bugs}):
        group = [each for each in bugs if each.case.label == label]
        rules = "/".join(sorted(group[0].case.rules))
        rows.append(f"{rules:<14} {label:<38} {sum(each.right for each in group):>3} of {len(group)}")
    found = sum(each.right for each in bugs)
    share = f"{100 * found / len(bugs):.1f} %" if bugs else "none"
    rows.append(f"recall on bugs: {found} of {len(bugs)} ({share})")
    accused = [each for each in clean if not each.right]
    rows.append(f"clean rows with a certain high or critical finding: {len(accused)} of {len(clean)}")
    still = [each for each in fixed if not each.right]
    if fixed:
        rows.append(f"fixed rows in which the fault is still reported: {len(still)} of {len(fixed)}")
    rows += [f"  missed: {_name(each.case)}" for each in bugs if not each.right]
    for each in [*accused, *still]:
        rows += [f"  false alarm: {_name(each.case)}: line {alarm.line} {alarm.rule}" for alarm in each.findings]
    if absent:
        repos = sorted({f"{case.repo}@{case.commit[:8]}" for case in absent})
        rows.append(f"no checkout for {len(absent)} rows: {', '.join(repos)}")
    return "\n".join(rows) + "\n"


def _name(case: Case) -> str:
    return f"{case.repo}@{case.commit[:8]} {case.path}:{case.line} {case.label}"


def find_checkout(folder: Path, repo: str, commit: str) -> Sources | None:
    """The Python files of a repository at a commit: from a folder that holds them, or from a git repository."""
    flat = [repo.replace("/", mark) for mark in ("/", "+", "__", "_", "-")]
    for name in flat:
        for at in (f"{name}@{commit}", f"{name}@{commit[:8]}", f"{name}/{commit}", f"{name}__{commit}"):
            if (folder / at).is_dir():
                return read_sources(folder / at, ["."], confined=False)
    for name in [*flat, repo.partition("/")[2]]:
        for git in (folder / name, folder / name / "repo", folder / name / ".git", folder / f"{name}.git"):
            if (git / "objects").is_dir() or (git / ".git").exists():
                sources = Sources(files_at(git, commit, bare=True, in_part=True))
                if len(sources):
                    return sources
    return None
