"""Witness one run of any script: start it under the recorder, judge what it did, say what was seen."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verifygate.base.clean_start import projects_path
from verifygate.base.counts import counted
from verifygate.base.errors import UsageError
from verifygate.base.lifeline import temporary_folder
from verifygate.base.masking import masked_model
from verifygate.base.regular_files import MAX_SOURCE_BYTES, open_regular, read_regular
from verifygate.execution.audited_events import own_events
from verifygate.execution.compiled import compiled
from verifygate.execution.dtype_errors import dtype_error
from verifygate.execution.emulation_limits import cause_in_the_emulation
from verifygate.execution.ended_by_overflow import ended_by_overflow
from verifygate.execution.health import health
from verifygate.execution.instruments import CHILDREN_VARIABLE, Launched, LaunchOptions, launch
from verifygate.execution.numerics import broke_in_passing, never_settles, numerics, skips_without_cause
from verifygate.execution.observed_violation import ObservedViolation
from verifygate.execution.order import OrderJudge
from verifygate.execution.ranks import compare, read_run, with_ranks
from verifygate.execution.recorded_trace import Trace
from verifygate.execution.recordings import collected, why_not, write
from verifygate.execution.remedies import for_failure
from verifygate.execution.run_findings import Ownership, findings
from verifygate.execution.run_violations import violations_of_the_run
from verifygate.execution.scrub import Scrubber
from verifygate.execution.trace_summary import summary
from verifygate.model import EvidenceClass, TraceSummary
from verifygate.model.probe_report import ProbeReport, Witnessed
from verifygate.model.recording import Recording
from verifygate.process.subject import Subject
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

FLAGS = frozenset("-u -B -O -OO -E -s -S -I -q -v -b -bb -d -P".split())  # noqa: SIM905
VALUED = frozenset({"-W", "-X"})
SHEBANG = re.compile(
    rb"#!(?P<path>/\S*/python[\d.]*)\s*\n"
    rb"|#!/bin/sh\n'''exec' [\"']?(?P<long>/[^\"'\n]*/python[\d.]*)[\"']? "
)
"""How a Python script among an environment's programs begins; a path that is too long for the first line comes in the
second."""


@dataclass(frozen=True)
class Command:
    """`python -u train.py --lr 1`, taken apart."""

    interpreter: Path
    python: tuple[str, ...]
    script: tuple[str, ...]
    """`train.py --lr 1`, or `-m train --lr 1`."""
    is_installed: bool = False
    """Whether the script is a launcher from an environment, such as torchrun, and no file of the user's."""


@dataclass(frozen=True)
class Look:
    """What is looked at beside the protocol."""

    health: bool = False
    """The numbers of sampled steps."""
    shadow: bool = False
    """The same, and these steps again in float32."""
    numbers: bool = False
    """More steps than those after a skipped one, for the operation that makes an inf."""
    compiled: bool = False
    """Compiled graphs against eager ones."""
    record: Path | None = None
    """Where to write what the operations of a few steps computed."""

    @property
    def instruments(self) -> list[tuple[str, dict[str, Any]]]:
        """What looks, beside the recorder."""
        found: list[tuple[str, dict[str, Any]]] = [("numerics", {"asked": self.numbers}), ("dtypes", {})]
        if self.health or self.shadow:
            found.append(("health", {"values": True, "moves": True, "shadow": self.shadow}))
        if self.compiled:
            found.append(("compiled", {}))
        if self.record is not None:
            found.append(("values", {}))
        return found


def parsed(words: Sequence[str]) -> Command:
    """Take a command line apart. Raises UsageError where it does not start a Python script or module."""
    remedy = "write it as you would in a shell: verifygate probe -- python train.py"
    found = shutil.which(words[0], path=projects_path()) if words else None
    if found is not None and (interpreter := _interpreter_of(Path(found))) is not None:
        return Command(interpreter, (), (found, *words[1:]), is_installed=True)
    if found is None or "python" not in Path(words[0]).name:
        what = f"`{words[0]}` is no Python interpreter that can be found" if words else "there is no command"
        raise UsageError(what, remedy=remedy)
    options: list[str] = []
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        step = 2 if words[at] in VALUED else 1
        if words[at] not in FLAGS | VALUED and words[at][:2] not in VALUED:
            raise UsageError(f"`{words[at]}` cannot be probed", remedy=remedy)
        options += words[at : at + step]
        at += step
    script = tuple(words[at:])
    if not script or script == ("-m",):
        raise UsageError("no script is named", remedy=remedy)
    if script[0] != "-m" and not Path(script[0]).is_file():
        raise UsageError("no such script", where=script[0], remedy="name a Python file")
    return Command(Path(found).absolute(), tuple(options), script)


def _interpreter_of(script: Path) -> Path | None:
    """The interpreter of a Python script that an environment has among its programs: torchrun, accelerate."""
    with open_regular(script) as file:
        found = SHEBANG.match(file.read(1024))
    return Path(os.fsdecode(found["path"] or found["long"])) if found else None


def _users_environment() -> dict[str, str]:
    """What the user's own run has, temporary folder and all: what it writes there stays."""
    passed_on = {name: value for name, value in os.environ.items() if name != CHILDREN_VARIABLE}
    return {"PYTHONPATH": "", "TMPDIR": tempfile.gettempdir()} | passed_on


def probe(
    command: Command,
    words: Sequence[str],
    *,
    folder: Path,
    seconds: float,
    capability: tuple[int, int] | None = None,
    look: Look = Look(),
    tell: Callable[[str], object] | None = None,
) -> ProbeReport:
    """Run the command in `folder` (where the user is) under the recorder; `tell` gets its output while it runs.

    `capability`: of the CUDA device that is emulated; None for no emulation. Raises UsageError where it cannot start.
    """
    root = folder.resolve()
    named = command.script[0] != "-m" and not command.is_installed
    if named and not (script := Path(command.script[0]).resolve()).is_relative_to(root):
        root = script.parent
    emulate_cuda = capability is not None
    instruments = [("recorder", {"sample": True, "emulated": emulate_cuda}), *look.instruments]
    if emulate_cuda:
        instruments.insert(0, ("emulate_cuda", {"capability": capability}))
    with temporary_folder("probe") as private:
        try:
            launched = launch(
                Subject(root, command.interpreter),
                command.script,
                instruments,
                folder=Path(private),
                seconds=seconds,
                options=LaunchOptions(command.python, _users_environment(), cwd=folder, follow=True),
                tell=tell,
            )
        except OSError as error:
            raise UsageError(f"the interpreter cannot be started: {error.strerror}", where=words[0]) from error
        trace = read_run(Path(private, "written"))
        scrubber = Scrubber(root, Path(private))
        processes = collected(Path(private, "written"), root) if look.record is not None else ()
    report = _report(words, launched, trace, scrubber, str(command.interpreter), emulate_cuda=emulate_cuda)
    found: dict[str, object] = {}
    if look.health or look.shadow:
        found["health"] = health(launched.told)
    if look.compiled:
        found["compiled"] = compiled(launched.told, scrubber.inside)
    report = report.model_copy(update=found)
    if look.record is not None:
        write(Recording(report=masked_model(report), processes=processes, why_not=why_not(launched.told)), look.record)
    return report


def _report(
    words: Sequence[str],
    launched: Launched,
    trace: Trace,
    scrubber: Scrubber,
    interpreter: str,
    *,
    emulate_cuda: bool,
) -> ProbeReport:
    ownership = Ownership(_files(trace, scrubber), scrubber.inside, tests_too=True)
    judge = OrderJudge(trace)
    whole = launched.completed.exit_code == 0 and not launched.completed.timed_out
    hits: list[tuple[str, ObservedViolation]] = []
    for section in trace.sections:
        ended = whole and (section.process is None or section.process.ended)
        hits += [("", hit) for hit in (*judge.judge(section), *violations_of_the_run(section, trace, whole=ended))]
    ranks = compare(trace)
    hits += ranks.hits
    if not whole and not launched.completed.timed_out:
        hits += [("", hit) for hit in _after_overflow(trace, launched, scrubber)]
    found = findings(hits, ownership)
    own = own_events(trace, ownership)
    seen = summary(trace, judge.visits, scrubber.inside).model_copy(update={"own": own})
    seen = with_ranks(seen, ranks, str)
    broken = numerics(launched.told, trace, scrubber.inside)
    outcome, reason = _outcome(launched, seen, bool(found), scrubber)
    if outcome in (Witnessed.CLEAN, Witnessed.NOT_MEASURED) and (unstable := never_settles(trace, seen, broken)):
        outcome, reason = Witnessed.UNSTABLE, unstable
    if outcome is Witnessed.CLEAN and (unknown := skips_without_cause(broken)):
        outcome, reason = Witnessed.NOT_MEASURED, unknown
    if outcome is Witnessed.CLEAN:
        reason = "; ".join(filter(None, (broke_in_passing(broken), reason)))
    if outcome is Witnessed.FAILED and (lacking := for_failure(reason, scrubber.text(interpreter), scrubber.root)):
        reason = f"{reason}; {lacking}"
    return ProbeReport(
        command=tuple(words),
        outcome=outcome,
        reason=reason,
        evidence=EvidenceClass.EMULATED if emulate_cuda else EvidenceClass.EXECUTED,
        ending=launched.completed.ending,
        torch=next((str(one.get("torch")) for one in launched.told if one["event"] == "installed"), ""),
        trace=seen,
        findings=found,
        dtype_error=dtype_error(launched.told, trace, scrubber.inside),
        numerics=broken if broken.is_told else None,
    )


def _after_overflow(trace: Trace, launched: Launched, scrubber: Scrubber) -> Iterable[ObservedViolation]:
    calls = _trace(launched.ended or {})
    return ended_by_overflow(trace, calls, lambda path: scrubber.inside(path) is not None)


def _files(trace: Trace, scrubber: Scrubber) -> Sources:
    """The files that the run passed through, below the root."""
    paths = {frame.path for frames in trace.places.values() for frame in frames}
    inside = {path: shown for path in paths if (shown := scrubber.inside(path)) is not None}
    return Sources([SourceFile(shown, read_regular(path, MAX_SOURCE_BYTES)) for path, shown in inside.items()])


def _outcome(launched: Launched, seen: TraceSummary, found: bool, scrubber: Scrubber) -> tuple[Witnessed, str]:
    """What came of it, and why, in one line."""
    completed, ended, counts = launched.completed, launched.ended, dict(seen.counts)
    early = f"{completed.ending}; judged is what was recorded until then" if completed.timed_out else ""
    failure = ""
    if completed.exit_code != 0 and not completed.timed_out:
        failure = f"the script failed: {completed.ending}"
        if ended is not None and ended.get("error"):
            inside = [(scrubber.inside(path), line) for path, line in _trace(ended)]
            place = next((f"{path}:{line}" for path, line in reversed(inside) if path), "")
            said = scrubber.text(f"{ended['error']}: {ended.get('message', '')}")
            failure += f", {said}" + (f" at {place}" if place else "")
    if found:
        return Witnessed.VIOLATIONS, failure or early
    if failure and (cause := _cause_elsewhere(launched, scrubber)):
        return Witnessed.NOT_MEASURED, f"{failure}; {cause}"
    if failure:
        return Witnessed.FAILED, failure
    if missing := _nothing_to_judge(launched, seen):
        return Witnessed.NOT_MEASURED, missing
    if not early and not counts.get("autocast") and _casts_by_itself(seen):
        early = "no autocast region: a sharding policy, or casts of the model's own, made the half precision"
    return Witnessed.CLEAN, early


def _cause_elsewhere(launched: Launched, scrubber: Scrubber) -> str:
    """What of an emulated CUDA stands in the way of a script that failed; empty where nothing does."""
    if launched.ended is None or "emulate_cuda" not in launched.installed:
        return ""
    error = f"{launched.ended.get('error')}: {launched.ended.get('message', '')}"
    if cause := cause_in_the_emulation(error, _trace(launched.ended), scrubber.inside):
        return cause
    gaps = [one for one in launched.told if one["event"] == "not-emulated" and one.get("spoils") == "anything"]
    if not gaps:
        return ""
    named = ", ".join(
        f"{one['feature']} ({one['instead']}; {scrubber.path(one['path'])}:{one['line']})" for one in gaps
    )
    return f"the cause may be what is not emulated: {named}"


def _nothing_to_judge(launched: Launched, seen: TraceSummary) -> str:
    """Why the record cannot show that all is well; empty where it can."""
    counts = dict(seen.counts)
    off = next((remark for remark in seen.remarks if remark.startswith("torch switched")), "")
    if launched.failed:
        return f"an instrument could not be installed: {'; '.join(launched.failed)}"
    if not launched.installed:
        return "the script never imported torch in its own process"
    if seen.problems:
        return f"the recorder broke: {seen.problems[0]}"
    if not seen.steps:
        return _no_step(counts)
    if seen.steps == seen.skipped:
        return f"the scaler skipped all of {counted(seen.steps, 'step')}: nothing was trained"
    if not counts.get("autocast") and not counts.get("scale"):
        hint = f" ({off}; --emulate-cuda runs it)" if off else ""
        neither = f"neither autocast nor a live scaler was in use in {counted(seen.steps, 'step')}"
        if seen.not_float32 and (not seen.updates or any(one.lost is None for one in seen.updates)):
            return f"{neither}: the weights are in low precision, and what their updates lose is not known{hint}"
        if seen.not_float32:
            return ""
        return "" if _casts_by_itself(seen) else f"{neither}{hint}"
    return ""


def _casts_by_itself(seen: TraceSummary) -> bool:
    """Whether float32 weights were trained in half precision without a region: by a sharding policy, or own casts."""
    return seen.low_precision is not None and seen.low_precision.low_operations > 0 and not seen.not_float32


def _no_step(counts: dict[str, int]) -> str:
    """Why no step was recorded: training elsewhere, or code that leaves each step out."""
    backwards, regions = counts.get("backward", 0), counts.get("autocast", 0)
    if not backwards and regions and "optimizer" in counts:
        after = f"no backward and no step was recorded after {counted(regions, 'autocast region')}"
        return f"{after}: the script's own code left them out, as where it asks for a finite loss first"
    elsewhere = "a training in a process that is forked, or has another environment, is not seen"
    if not backwards and regions and "optimizer" not in counts:
        looked = f"losses and constants of {counted(regions, 'autocast region')} were looked at"
        return f"no training step: an evaluation; {looked}, and where `--numerics` asks, every number; {elsewhere}"
    if not backwards and "optimizer" not in counts:
        return f"no training step: no optimizer, no backward and no autocast region was recorded; {elsewhere}"
    if not backwards:
        return f"no optimizer step was recorded; {elsewhere}"
    after = f"no optimizer step was recorded after {counted(backwards, 'backward')}"
    if "optimizer" not in counts:
        return f"{after}: no optimizer of torch.optim was made"
    return f"{after}: the script's own code left it out"


def _trace(ended: dict[str, Any]) -> list[tuple[str, int]]:
    return [(str(path), int(line)) for path, line in ended.get("trace", ())]
