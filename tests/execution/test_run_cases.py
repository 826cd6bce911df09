"""Small programs, each run once under the recorder: every violation is found at its line, every right twin is clean."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from verifygate.execution.instruments import LaunchOptions, launch
from verifygate.execution.observed_violation import Form
from verifygate.execution.order import OrderJudge
from verifygate.execution.ranks import compare
from verifygate.execution.recorded_trace import Section, Trace, read_trace
from verifygate.execution.run_findings import Ownership, findings
from verifygate.execution.run_violations import violations_of_the_run
from verifygate.execution.scrub import Scrubber
from verifygate.execution.trace_judgement import violations_by_test
from verifygate.process.subject import Subject
from verifygate.protocol import Violation
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

pytest.importorskip("torch")
CASES = Path(__file__).parent / "cases"
MODULES = ("order", "gan", "regions", "forwards", "writes", "weights", "reads")
NAMED = re.compile(r"^def ([a-z]\w*)\(w\)|# (AMP\d+)$", re.MULTILINE)
Expected = dict[str, set[tuple[str, int]]]


def expected() -> Expected:
    """Case -> rule and line of what the comments in it name."""
    cases: Expected = {}
    for module in MODULES:
        case = ""
        for number, line in enumerate((CASES / f"{module}.py").read_text().splitlines(), 1):
            for function, rule in NAMED.findall(line):
                if function:
                    cases[case := f"{module}.{function}"] = set()
                else:
                    cases[case].add((rule, number))
    return cases


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder = tmp_path_factory.mktemp("run")
    done = launch(
        Subject(CASES, Path(sys.executable)),
        ["all_cases.py"],
        [("recorder", {})],
        folder=folder,
        seconds=900,
        options=LaunchOptions(env={"OMP_NUM_THREADS": "1"}),
    )
    assert done.completed.exit_code == 0, done.completed.stderr_tail
    read = read_trace(folder / "written" / "trace")
    assert not read.problems, read.problems
    return read


@pytest.fixture(scope="module")
def found(trace: Trace) -> Expected:
    """Case -> rule and line of what the judge finds."""
    files = [SourceFile(f"{name}.py", (CASES / f"{name}.py").read_bytes()) for name in (*MODULES, "world")]
    ownership = Ownership(Sources(files), Scrubber(CASES, CASES / "none").inside, tests_too=True)
    judge = OrderJudge(trace)
    result: Expected = {}
    for section in trace.sections:
        hits = [*judge.judge(section), *violations_of_the_run(section, trace, whole=True)]
        result[section.name] = {
            (each.rule, each.line) for each in findings([(section.name, hit) for hit in hits], ownership)
        }
    return result


@pytest.mark.parametrize("case", expected())
def test_case(case: str, found: Expected):
    assert found[case] == expected()[case]


def test_the_device_that_a_test_chooses_is_no_fault_of_a_region(trace: Trace):
    """A script that crosses a region of another device has a fault; what a test does is the test's choice."""
    case = "forwards.region_for_another_device"
    hits = violations_by_test(trace, OrderJudge(trace), compare(trace), str, ())
    here = [hit for name, hit in hits if name == case and hit.violation is Violation.AUTOCAST_DEVICE_MISMATCH]

    assert here
    assert {(hit.form, hit.certain) for hit in here} == {(Form.DEVICE_OF_A_TEST, False)}
    section = next(each for each in trace.sections if each.name == case)
    assert {(hit.form, hit.certain) for hit in violations_of_the_run(section, trace, whole=True)} >= {(None, True)}


def test_every_kind_of_event_is_recorded(trace: Trace):
    kinds = {event.kind for event in trace.events}
    assert kinds == {
        *("scaler", "scale", "unscale", "scaler.step", "update", "get_scale"),
        *("scaler.state_dict", "scaler.load_state_dict", "save", "loader"),
        *("optimizer", "optimizer.step", "scheduler.step", "zero_grad"),
        *("backward", "grad", "clip", "touched", "written", "bounded", "autocast", "autocast.exit"),
        *("loss", "overflow", "handed", "forward", "updates", "nonfinite", "scaled.read"),
    }


def test_every_case_is_named(found: Expected):
    assert found.keys() - {""} == expected().keys()


@pytest.mark.parametrize(
    ("case", "certain"),
    [
        ("writes.decay_in_place", False),
        ("writes.decay_while_the_scale_grows", True),
        ("writes.noise_while_the_scale_grows", True),
    ],
)
def test_a_sum_is_certain_once_the_scale_has_changed(case: str, certain: bool, trace: Trace):
    section = next(each for each in trace.sections if each.name == case)
    assert [(hit.violation.value, hit.certain) for hit in OrderJudge(trace).judge(section)] == [("AMP204", certain)]


def test_a_scaled_loss_that_is_read_is_certain_where_nobody_asks_for_the_scale(trace: Trace):
    section = next(each for each in trace.sections if each.name == "reads.item_of_a_scaled_loss")
    hits = list(violations_of_the_run(section, trace, whole=True))
    assert {(hit.violation.value, hit.certain) for hit in hits} == {("AMP204", True)}
    hits = list(violations_of_the_run(Section(section.name, section.events[:12]), trace, whole=False))
    assert [(hit.violation.value, hit.certain) for hit in hits] == [("AMP204", False)]  # read a single time
