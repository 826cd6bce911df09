"""The analysis of one unit, in a process of its own: `python -m verifygate.sweep.analysis`.

The unit is its one argument, as JSON; the row is what it prints, as JSON. It ends as soon as its standard input is
closed, for then the process that asked has died.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time

from verifygate import __version__
from verifygate.base.errors import UsageError
from verifygate.config.rule_selection import RuleSelection
from verifygate.model.finding import Finding
from verifygate.model.sweep_report import Answer, Row, SweptFinding
from verifygate.sources.tree import Sources
from verifygate.static.analysis_result import AnalysisResult
from verifygate.static.engine import Means, analyse
from verifygate.static.registry import load_rules
from verifygate.sweep.reading import identify, read
from verifygate.sweep.units import Unit

LOST_SHOWN = 50
"""Files that could not be analysed that a row names; the reports of `check` name all of them."""
_CHARACTERS = 400


def analysed(unit: Unit) -> tuple[Row, bool]:
    """The row of a unit, and whether it may be kept. Raises UsageError where it cannot be read."""
    identity = identify(unit)
    sources, versions = read(unit, identity)
    load_rules()
    selection = RuleSelection(select=unit.rules).allowing(versions)
    found = analyse(sources, selection, with_constructs=False, means=Means(lets_go=True))
    row = _row(unit, found).model_copy(
        update={"commit": identity.commit, "key": identity.key, "seconds": round(time.process_time(), 2)}
    )
    return row, not sources.unreadable and _is_unchanged(sources, unit, identity.key)


def _is_unchanged(sources: Sources, unit: Unit, key: str) -> bool:
    """Whether the files are still those of the key. The text of a large tree is read a second time."""
    return not sources.are_large or identify(unit).key == key


def _row(unit: Unit, found: AnalysisResult) -> Row:
    gaps = [f"{lost.path}: {lost.reason}" for lost in found.not_analysed if lost.mentions_amp]
    findings = tuple(_swept(each) for each in found.findings)
    answer = Answer.BLOCK if any(each.blocks for each in findings) else Answer.UNKNOWN if gaps else Answer.PASS
    reason = f"not all files with AMP code could be analysed: {len(gaps)}" if answer is Answer.UNKNOWN else ""
    return Row(
        name=unit.name,
        answer=answer,
        reason=reason,
        files=found.files_checked,
        suppressed=len(found.suppressions),
        findings=findings,
        not_analysed=tuple(gap[:_CHARACTERS] for gap in gaps[:LOST_SHOWN]),
    )


def _swept(finding: Finding) -> SweptFinding:
    return SweptFinding(
        rule=finding.rule,
        severity=finding.severity,
        certainty=finding.certainty,
        path=finding.path,
        line=finding.line,
        message=finding.message,
        fingerprints=finding.fingerprints,
        blocks=finding.blocks(),
    )


def _end_with_parent() -> None:
    """Wait for the end of standard input, which the process that asked holds open, and end."""
    sys.stdin.buffer.read()
    os._exit(4)


def main(argument: str) -> int:
    """Print `{"version", "row", "keep"}`, or `{"version", "error"}` for a unit that cannot be read."""
    name, path, commit, rules, seconds = json.loads(argument)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.disable()  # as `check` does: the process ends with its one analysis
    said: dict[str, object] = {"version": __version__}
    try:
        row, keep = analysed(Unit(name, path, commit, tuple(rules), seconds))
        said |= {"row": row.model_dump(mode="json"), "keep": keep}
    except UsageError as error:
        said["error"] = str(error)
    print(json.dumps(said), flush=True)
    os._exit(0)  # nothing is left to be tidied up, and freeing all syntax trees takes a while


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
