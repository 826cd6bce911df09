"""Verify citations: each location that a result cites is looked up again (file, line, text, enclosing name)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from verifygate.base.masking import masked
from verifygate.merge.inputs import Inputs, Results, named
from verifygate.model import Check, Contradiction, Evidence, Status


@dataclass(frozen=True)
class Citation:
    """A place, and what is said to be there."""

    path: str
    line: int
    snippet: str = ""
    symbol: str = ""


def sources_changed(_results: Results, inputs: Inputs) -> Iterator[Contradiction]:
    """Whether the tree is still the one that the stages read: its digest goes into the report."""
    if inputs.now.digest == inputs.sources.digest:
        return
    before, now = ({file.path: file.digest for file in tree} for tree in (inputs.sources, inputs.now))
    other = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
    only_new = all(path not in before for path in other)
    yield Contradiction(
        name="sources-changed",
        stages=(),
        text=f"the stages read one tree, and another one is there now: {named(other)}",
        stands="what was read; nobody looked at what was added since"
        if only_new
        else "the report is about the older tree, so it lets nothing pass",
        blocks=not only_new,
        path=other[0] if other[0] in now else None,
        action="find what writes into the sources while the gate runs, and run it again",
    )


def trusted_changed(_results: Results, inputs: Inputs) -> Iterator[Contradiction]:
    """Whether what the gate is started from, and what git obeys, is as it was before the project's code ran."""
    if inputs.touched:
        yield Contradiction(
            name="gate-changed",
            stages=(),
            text=f"while the project's code ran, somebody changed what the gate trusts: {named(inputs.touched)}",
            stands="nothing that the gate says after that; it lets nothing pass",
            blocks=True,
            action="look at these files before you use the gate or git here again; install the gate outside of the "
            "tree, and run where isolation is granted",
        )


def cited_places(results: Results, inputs: Inputs) -> Iterator[Contradiction]:
    """Findings and AMP code that do not stand where they are said to; checks that pass on such a place."""
    for stage, finding in results.findings:
        cited = [Citation(finding.path, finding.line, finding.snippet, finding.symbol)]
        cited += [Citation(step.path, step.line) for step in finding.steps]
        yield from _told(stage.stage, f"{finding.rule} {finding.name}", cited, inputs, ())
    if results.static:
        for construct in results.static.constructs:
            place = Citation(construct.path, construct.line, symbol=construct.symbol)
            yield from _told("static", construct.kind.value, [place], inputs, ())
    for each in results.execution.functions if results.execution else ():
        place = Citation(each.path, each.line, symbol=each.symbol)
        yield from _told("execution", f"coverage of `{each.symbol}`", [place], inputs, ())
    for stage in results.stages:
        for check in stage.checks:
            passes = (check.id,) if check.status is Status.PASS else ()
            cited = [*_of_evidence(check.evidence), *_of_code(check, results)]
            yield from _told(stage.stage, f"`{check.id}`", cited, inputs, passes)


def _of_evidence(evidence: tuple[Evidence, ...]) -> Iterator[Citation]:
    return (Citation(each.path, each.line) for each in evidence if each.path and each.line)


def _of_code(check: Check, results: Results) -> Iterator[Citation]:
    """The code that a requirement is traced to: `path:line symbol`."""
    row = next((row for row in results.rows if f"requirements.{row.id}" == check.id), None)
    for text in row.code if row else ():
        place, _, symbol = text.partition(" ")
        path, _, line = place.rpartition(":")
        if path and line.isdecimal():
            yield Citation(path, int(line), symbol=symbol)


def _told(
    stage: str, what: str, cited: list[Citation], inputs: Inputs, passes: tuple[str, ...]
) -> Iterator[Contradiction]:
    """The first citation that does not hold, where one does not."""
    for place in cited:
        if problem := not_there(place, inputs):
            yield Contradiction(
                name="cited-place-missing",
                stages=(stage,),
                text=f"{what} cites {place.path}:{place.line}, and {problem}",
                stands="what passes on it counts as not measured" if passes else "what was found stands",
                lowers=passes,
                to=Status.NOT_MEASURED if passes else None,
                path=place.path if inputs.lines(place.path) is not None else None,
                line=place.line if inputs.lines(place.path) is not None else None,
                action="run the gate again on a tree that nobody changes meanwhile",
            )
            return


def not_there(place: Citation, inputs: Inputs) -> str:
    """What is wrong with a citation, in words; empty where it holds, and where it is of no file of the project."""
    if not inputs.is_inside(place.path):
        return ""
    lines = inputs.lines(place.path)
    if lines is None:
        return "there is no such file"
    if not 1 <= place.line <= len(lines):
        return f"the file has {len(lines)} lines"
    there = lines[place.line - 1].strip()
    if place.snippet and place.snippet.strip() not in (there, masked(there)):  # a finding repeats no secret
        return "another text stands there"
    audited = inputs.sources.get(place.path) is not None
    for name in place.symbol.split(".") if audited else ():
        if name.isidentifier() and not _defined(name, lines):
            return f"nothing is called `{name}` in that file"
    return ""


def _defined(name: str, lines: list[str]) -> bool:
    pattern = re.compile(rf"\b(?:def|class)\s+{re.escape(name)}\b")
    return any(name in line and pattern.search(line) for line in lines)
