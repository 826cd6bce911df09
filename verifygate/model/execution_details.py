"""What the execution stage alone reports: tests, coverage of functions, recorded runs."""

from __future__ import annotations

from typing import Literal

from verifygate.model.base import Model, Volatile
from verifygate.model.dtype_error import DtypeError
from verifygate.model.recorded_trace import EntryPrecision, TraceSummary
from verifygate.model.stage_details import StageDetails


class TestOutcome(Model):
    """One test of the audited project, as the run itself reported it."""

    __test__ = False  # a model, whatever pytest makes of its name

    id: str
    outcome: Literal["passed", "failed", "skipped", "xfailed", "xpassed", "error", "started", "flaky"]
    """`started` without an end: the run died inside this test. `flaky`: failed, and passed when it ran again."""
    again: str | None = None
    """Its outcome when it ran once more, alone, in a fresh process; null where it did not."""
    before: str | None = None
    """Its outcome at the commit that the change under review began at; `absent` where there was no such test then; null
    where that was not asked, or is not known."""
    stood: bool = False
    """Whether it was as it is before the change, which did not touch it."""
    reason: str = ""
    """Skip or xfail reason, or the last line of the failure."""
    ended_at: str = ""
    """`path:line` of the innermost line of the project that the error of a failed test came through."""
    whose: str = ""
    """Whose doing the end of a failed test is: a fault of the program, a refusal, a library's error, the machine's."""
    dtype_error: DtypeError | None = None
    """Where an error about dtypes ended it: its operands, why each has its dtype, and the cast that mends it."""
    path: str = ""
    line: int = 0
    requirements: tuple[str, ...] = ()
    """Ids from `@pytest.mark.requirement("AMP-03")` on the test."""
    seconds: Volatile[float | None] = None


class TestWarning(Model):
    """A warning that the audited project's tests raised."""

    __test__ = False

    category: str
    message: str
    path: str
    line: int
    count: int = 1


class FunctionCoverage(Model):
    """One function that holds AMP code, and the tests that execute a line of its body."""

    path: str
    symbol: str
    line: int
    end_line: int
    tests: tuple[str, ...]
    emulated: tuple[str, ...] = ()
    """The tests that execute it where CUDA is emulated, and are skipped elsewhere."""


class NotEmulated(Model):
    """A feature of CUDA that was used where CUDA is emulated, and is not emulated."""

    feature: str
    instead: str
    """What happens in its place."""
    path: str
    """Where it was used first: of the test, or of the file while it was collected."""
    line: int


class EmulatedTest(Model):
    """A test that skips for want of CUDA, run again where CUDA is emulated on the CPU."""

    id: str
    standing: Literal["passed", "failed", "not measured"]
    """`failed` blames the audited code; whatever may lie in the emulation, on either side, is `not measured`."""
    outcome: str
    """What pytest made of it there; empty where it was not run."""
    reason: str = ""
    """Why it did not pass, or why its pass is no proof."""
    path: str = ""
    line: int = 0
    requirements: tuple[str, ...] = ()
    not_emulated: tuple[NotEmulated, ...] = ()


class ExecutionDetails(StageDetails):
    kind: Literal["execution"] = "execution"
    command: tuple[str, ...] = ()
    """Relative to the root: the interpreter's own path is left out."""
    exit_code: int | None = None
    tests: tuple[TestOutcome, ...] = ()
    deselected: int = 0
    collected: int = 0
    warnings: tuple[TestWarning, ...] = ()
    functions: tuple[FunctionCoverage, ...] = ()
    attribution: str = ""
    """Why there is no function coverage, where there is none."""
    trace: Volatile[TraceSummary | None] = None
    """What the recorder saw of AMP during the tests; a test without a seed may skip other steps each time."""
    oracle_entries: tuple[str, ...] = ()
    """What the oracles ran; their checks speak of `entry 1`, `entry 2`."""
    half_precision: Volatile[tuple[EntryPrecision, ...] | None] = None
    """How much of these entries' matrix work was in half precision."""
    output_tail: Volatile[str | None] = None
    emulated: tuple[EmulatedTest, ...] = ()
    """The tests that were skipped for want of CUDA, as they ended where CUDA is emulated."""
    emulation: str = ""
    """Why there was no emulated run, where there was none."""
    emulated_trace: Volatile[TraceSummary | None] = None
    """What these tests did with AMP there."""
