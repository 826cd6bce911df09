"""Compare findings with those of an earlier report: new, open, fixed, or unknown. Matched by fingerprint, not by line.

Earlier versions named a second definition by its line, `train@7`, and the fingerprints of findings in it moved with
that line. A finding under such a name is matched by rule, file, plain name and text of the line instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.base.regular_files import TooLargeError, read_argument
from verifygate.base.strict_json import MAX_BYTES, DocumentError, DoubledKeyError, parsed
from verifygate.model import Changes, ExecutionDetails, Finding, Outcome, Report, Witness
from verifygate.model.check_report import SCHEMA_VERSION
from verifygate.model.report import OtherSchemaError, seal_of
from verifygate.sources.qualified_names import unnumbered

_LINE = re.compile(r"@\d+")
_OWN = "give a report.json that `verifygate run` of this version wrote"


def read(path: Path, shown: str) -> Report:
    """The report at `path`, which errors call `shown`. Raises UsageError for what is no report.json of this schema."""
    return parse(text_at(path, shown), shown)


def text_at(path: Path, shown: str) -> str:
    """The text of a report.json, which may come through a pipe. Raises UsageError."""
    try:
        return read_argument(path, MAX_BYTES).decode()
    except TooLargeError:
        raise UsageError("larger than 64 MiB", where=shown, remedy="this cannot be a report.json") from None
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise UsageError(problem, where=shown, remedy="give a report.json that an earlier run wrote") from None
    except UnicodeDecodeError:
        raise UsageError("not valid JSON", where=shown, remedy="give a report.json that a run wrote") from None


def parse(text: str, shown: str) -> Report:
    """The report in the text of a report.json. Raises UsageError."""
    try:
        return Report.from_json(text)
    except DocumentError as error:
        if not error.line and not isinstance(error, DoubledKeyError):
            raise UsageError(f"not a report of this schema: {error}", where=shown, remedy=_OWN) from None
        where = f"{shown}:{error.line}" if error.line else shown
        problem = "not valid JSON" if error.line else str(error)
        raise UsageError(problem, where=where, remedy="give a report.json that a run wrote") from None
    except OtherSchemaError as error:
        problem = f"a report of schema version {error.version}; this verifygate reads version {SCHEMA_VERSION}"
        wrote = f": verifygate {error.tool} did" if isinstance(error.tool, str) else ""
        remedy = f"use the version that wrote it{wrote}, or run the gate again"
        raise UsageError(problem, where=shown, remedy=remedy) from None
    except (ValueError, RecursionError):
        raise UsageError("not a report of this schema", where=shown, remedy=_OWN) from None


def refuse_edited(text: str, shown: str) -> None:
    """Raises UsageError where a report was touched since it was written, or cannot show that it was not."""
    document = parsed(text)
    seal = document["run"].get("seal")
    if seal == seal_of(document):
        return
    known = "it was edited after it was written: its seal is not that of its content"
    problem = known if seal else "it has no seal: an earlier version wrote it, or somebody took it out"
    raise UsageError(problem, where=shown, remedy="give a report.json as `verifygate run` of this version wrote it")


def changes(new: Report, old: Report) -> Changes:
    """What became of each finding. One in a stage that did not complete this time is neither open nor fixed."""
    now = _findings(new)
    present = {each for finding in now.values() for each in finding.fingerprints}
    before = _under_present_fingerprints(_findings(old), now, present)
    known = {*before, *(each for finding in before.values() for each in finding.fingerprints)}
    told = {stage.stage for stage in new.stages if stage.outcome is Outcome.COMPLETED}
    stage_of = {finding.fingerprint: stage.stage for stage in old.stages for finding in stage.findings}
    gone = [finding for key, finding in before.items() if present.isdisjoint((key, *finding.fingerprints))]
    commit = old.provenance.commit
    added, stood = apart(now.values(), known)
    reached = [finding for finding in added if _is_out_of_reach(finding, old)]
    lost = {each.fingerprint for each in gone if stage_of[each.fingerprint] not in told or _is_out_of_reach(each, new)}
    return Changes(
        against=f"the report of {old.run.started}" + ("" if commit == "none" else f" on {commit}"),
        new=_sorted(finding for finding in added if finding not in reached),
        newly_reached=_sorted(reached),
        open=_sorted(stood),
        fixed=_sorted(finding for finding in gone if finding.fingerprint not in lost),
        cannot_tell=_sorted(finding for finding in gone if finding.fingerprint in lost),
    )


def _is_out_of_reach(finding: Finding, report: Report) -> bool:
    """Whether a run alone showed it, and no run of a report, though it recorded some, came to its function."""
    runs = [each.details for each in report.stages if isinstance(each.details, ExecutionDetails)]
    if finding.witnesses != (Witness.RUN,) or not runs:
        return False
    traces = (trace for each in runs for trace in (each.trace, each.emulated_trace) if trace is not None)
    visited = any(visit.path == finding.path for trace in traces for visit in trace.visits)
    return not visited and not any(
        function.tests or function.emulated
        for each in runs
        for function in each.functions
        if (function.path, function.symbol) == (finding.path, finding.symbol)
    )


def apart(findings: Iterable[Finding], known: Collection[str]) -> tuple[list[Finding], list[Finding]]:
    """What is new in findings, and what stood: of a cause with several locations, each location is one or the other."""
    parts = [finding.apart(known) for finding in findings]
    return [new for new, _ in parts if new is not None], [old for _, old in parts if old is not None]


def compared(new: Report, old: Report) -> Report:
    """The new report with what changed since the old one in it."""
    return new.model_copy(update={"changes": changes(new, old)})


def told(changed: Changes) -> str:
    """The changes as text, one finding a line."""
    lines = []
    for title, findings in changed.groups():
        lines += [f"{title}: {finding.path}:{finding.line}: {finding.rule} {finding.name}" for finding in findings]
    counts = ", ".join(f"{len(findings)} {title}" for title, findings in changed.groups())
    return "\n".join([*lines, f"Against {changed.against}: {counts}."]) + "\n"


def _findings(report: Report) -> dict[str, Finding]:
    return {finding.fingerprint: finding for stage in report.stages for finding in stage.findings}


def _under_present_fingerprints(
    before: Mapping[str, Finding], now: Mapping[str, Finding], held: Collection[str]
) -> dict[str, Finding]:
    """Old findings by the fingerprint that each has today, where it was made of a name with a line: `train@7`."""
    unmatched: dict[tuple[str, ...], list[str]] = {}
    for finding in sorted(now.values(), key=lambda finding: finding.order):
        if finding.fingerprint not in before and "#" in finding.symbol:
            unmatched.setdefault(_identity(finding, unnumbered(finding.symbol)), []).append(finding.fingerprint)
    present = {}
    for finding in sorted(before.values(), key=lambda finding: finding.order):
        if finding.fingerprint not in held and _LINE.search(finding.symbol):
            alike = unmatched.get(_identity(finding, _LINE.sub("", finding.symbol)))
            if alike:
                present[finding.fingerprint] = alike.pop(0)
    return {present.get(key, key): finding for key, finding in before.items()}


def _identity(finding: Finding, name: str) -> tuple[str, ...]:
    return (finding.rule, finding.path, name, finding.snippet)


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.order))
