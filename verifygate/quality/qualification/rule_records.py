"""What is known of each rule: its claim, its limits, its cases and what came of them, its proof, its accuracy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from verifygate.base.counts import counted
from verifygate.model import Model, Witness
from verifygate.protocol import Violation
from verifygate.quality.accuracy import Judged
from verifygate.quality.judgements import Answer, read_judgements
from verifygate.quality.qualification.cases import Case, examples_of, problem_of, problem_of_example
from verifygate.security.registry import security_rules
from verifygate.static.registry import load_rules
from verifygate.static.rule import LoadedRule, sections_of

SECURITY_TESTS = "tests/security/test_security_rules.py"
ANALYSER_TESTS = "tests/security/test_security_stage.py"
RUN_TESTS = "tests/execution/test_run_cases.py::test_case"
OTHER_RUN_TESTS: dict[str, str] = {
    Violation.SHARDED_NEEDS_SHARDED_SCALER: "tests/execution/test_recorded_ranks.py",
    Violation.NO_SYNC_INVERTED: "tests/execution/test_recorded_ranks.py",
    Violation.POLICY_OVER_HALF_WEIGHTS: "tests/execution/test_sharding_violations.py",
    Violation.HALF_REDUCTION: "tests/execution/test_sharding_violations.py",
    Violation.UNSAFE_LOSS: "tests/execution/test_probe.py",
    Violation.DEPRECATED_AMP_API: "",
}
"""Of rules that a run can show as well, where it is not the usual test; empty: no test names the rule."""
EXAMPLE_TESTS = (
    "tests/static/test_rule_cases.py::test_documentation_is_complete_and_its_examples_do_as_they_say[{code}]"
)
PROOF_TESTS = "tests/proof/test_proofs.py::test_every_claimed_proof_holds"


class CaseRecord(Model):
    """One case, identified by its digest."""

    name: str
    digest: str
    test: str

    @property
    def short(self) -> str:
        return self.name.partition("/")[2]


class Accuracy(Model):
    """How right a rule was on code that this project did not write; counted from files, never typed."""

    judged: dict[str, int]
    """Answer of a person -> blocking findings of the rule on the primer's packages. Empty where it has none there."""
    labels: tuple[int, int] | None = None
    """(found, all) of the labelled faults that name the rule, where labels were given."""
    accused: int | None = None
    """Labelled clean files in which it has a certain finding of a blocking severity, where labels were given."""

    @property
    def told(self) -> str:
        parts = [f"{number} {answer}" for answer, number in self.judged.items() if number]
        if self.labels is not None and self.labels[1]:
            parts.append(f"{self.labels[0]} of {self.labels[1]} labelled faults")
        if self.accused:
            parts.append(f"{counted(self.accused, 'clean file')} accused")
        return ", ".join(parts) or "not measured"


class RuleRecord(Model):
    """One rule, as far as the tool can tell."""

    code: str
    name: str
    severity: str
    claim: str
    """What it reports, as its documentation says."""
    impact: str
    limits: str
    """What it cannot see, as its documentation says."""
    seen_by: tuple[str, ...]
    proof: str
    """The command that shows the harm, or why there is none."""
    proved: str = ""
    """What came of the proof, where it was asked for."""
    cases: tuple[CaseRecord, ...]
    bad: int
    good: int
    examples: int
    tests: tuple[str, ...]
    """Tests of the source repository, besides those of the cases."""
    ran: int | None = None
    """Cases and examples that were run for this kit; None where none was asked for."""
    failed: tuple[str, ...] = ()
    """`case: how its answer differs`, of those that ran."""
    accuracy: Accuracy

    @property
    def result(self) -> str:
        """How many cases and examples came out as they should."""
        if self.ran is None:
            return "not run" if self.cases or self.examples else "no cases"
        return f"{self.ran - len(self.failed)} of {self.ran}"


def rule_records(
    codes: Sequence[str],
    cases: Iterable[Case],
    *,
    runs: bool,
    proofs: Mapping[str, str],
    labelled: Sequence[Judged] | None,
    progress: Callable[[str], None],
) -> tuple[RuleRecord, ...]:
    """The records of these rules, in order of code. With `runs`, all of their cases and examples are run."""
    grouped: dict[str, list[Case]] = {}
    for case in cases:
        grouped.setdefault(case.code, []).append(case)
    known, records = load_rules(), []
    for number, code in enumerate(codes, 1):
        progress(f"[{number}/{len(codes)}] {code}")
        if code in known:
            records.append(_of_static(known[code], grouped.get(code, []), runs, proofs.get(code, ""), labelled))
        else:
            records.append(_of_security(code, labelled))
    return tuple(records)


def _of_static(
    loaded: LoadedRule, cases: list[Case], runs: bool, proved: str, labelled: Sequence[Judged] | None
) -> RuleRecord:
    rule, examples = loaded.rule, examples_of(loaded)
    failed = []
    if runs:
        failed = [(each.name, problem_of(each)) for each in cases]
        failed += [
            (f"{rule.code}, {title}", problem_of_example(rule.code, title, each)) for title, each in examples.items()
        ]
    tests = [EXAMPLE_TESTS.format(code=rule.code)]
    tests += [PROOF_TESTS] if rule.proof else []
    of_runs = OTHER_RUN_TESTS.get(rule.code, RUN_TESTS) if Witness.RUN in rule.witnesses else ""
    tests += [of_runs] if of_runs else []
    return RuleRecord(
        code=rule.code,
        name=rule.name,
        severity=rule.severity.value,
        claim=loaded.sections["What it does"],
        impact=loaded.impact,
        limits=loaded.sections["What it cannot see"],
        seen_by=tuple(each.value for each in rule.witnesses),
        proof=f"`verifygate explain {rule.code} --prove`" if rule.proof else f"none: {rule.no_proof}",
        proved=proved,
        cases=tuple(CaseRecord(name=each.name, digest=each.digest, test=each.test) for each in cases),
        bad=sum(each.is_bad for each in cases),
        good=sum(not each.is_bad for each in cases),
        examples=len(examples),
        tests=tuple(tests),
        ran=len(cases) + len(examples) if runs else None,
        failed=tuple(f"{name}: {problem}" for name, problem in failed if problem),
        accuracy=_accuracy(rule.code, labelled),
    )


def _of_security(code: str, labelled: Sequence[Judged] | None) -> RuleRecord:
    """Rules of the security stage have no case files: their tests are in the source repository."""
    loaded = security_rules()[code]
    sections = sections_of(loaded.docs)
    return RuleRecord(
        code=code,
        name=loaded.rule.name,
        severity=loaded.rule.severity.value,
        claim=sections["What is looked at"],
        impact=" ".join(sections["Impact"].split()),
        limits="What its claim does not name.",
        seen_by=("the security stage",),
        proof="none: what it allows is somebody else's to do",
        cases=(),
        bad=0,
        good=0,
        examples=0,
        tests=(SECURITY_TESTS if loaded.check is not None else ANALYSER_TESTS,),
        accuracy=_accuracy(code, labelled),
    )


def _accuracy(code: str, labelled: Sequence[Judged] | None) -> Accuracy:
    answers = Counter(each.judgement for each in read_judgements() if each.rule == code)
    judged = {answer.value: answers[answer] for answer in Answer} if answers else {}
    if labelled is None:
        return Accuracy(judged=judged)
    bugs = [each for each in labelled if each.case.verdict == "bug" and code in each.case.rules]
    clean = [each for each in labelled if each.case.verdict not in ("bug", "fixed")]
    return Accuracy(
        judged=judged,
        labels=(sum(each.right for each in bugs), len(bugs)),
        accused=sum(any(finding.rule == code for finding in each.findings) for each in clean),
    )
