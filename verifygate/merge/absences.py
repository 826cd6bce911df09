"""Something is said to be nowhere, and another statement of the same report is about it: one of the two is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import islice

from verifygate.merge.findings import DONE_BY
from verifygate.merge.inputs import Inputs, Results
from verifygate.model import ConstructKind, Contradiction, QueryResult, Status
from verifygate.model.precision_contract import Aspect, Declaration
from verifygate.protocol import Event

_CONSTRUCT = re.compile(r"construct (?P<kind>[\w-]+)(?: in (?P<within>\S+))?$")
_DONE = {
    ConstructKind.UNSCALE.value: Event.UNSCALE.value,
    ConstructKind.SCALER_STEP.value: Event.SCALER_STEP.value,
    ConstructKind.UPDATE.value: Event.UPDATE.value,
}
"""A piece of AMP code -> what a run does there."""
_OF_A_SCALER = (ConstructKind.GRAD_SCALER, ConstructKind.SCALE, ConstructKind.SCALER_STEP)
_NOWHERE = {
    Aspect.LOSS_SCALE: ("none", _OF_A_SCALER),
    Aspect.DRIVER: ("nobody", (*_OF_A_SCALER, ConstructKind.AUTOCAST, ConstructKind.DELEGATED)),
}
"""A row of the contract -> how its value begins where there is nothing, and the AMP code that would be something."""
_STANDS = "what was seen: the other statement rests on code that was not followed"


def code_that_ran(results: Results, inputs: Inputs) -> Iterator[Contradiction]:
    """A requirement fails because some AMP code is nowhere, and a recorded run passed through it."""
    for row in results.rows:
        for query in row.queries:
            asked = _CONSTRUCT.match(query.query)
            if query.status is not Status.FAIL or asked is None or not _is_absence(query):
                continue
            for visit in (visit for trace in results.traces for visit in trace.visits):
                within = asked["within"] is None or fnmatchcase(visit.path, asked["within"])
                if visit.event == _DONE.get(asked["kind"]) and within and _is_audited(visit.path, inputs):
                    yield Contradiction(
                        name="absent-code-ran",
                        stages=("requirements", "execution"),
                        text=f"{row.id} fails because no `{asked['kind']}` was found, and a recorded run did it here",
                        stands=_STANDS,
                        path=visit.path,
                        line=visit.line,
                        action="name the object's class in its annotation, so that the source stage follows it",
                    )
                    break


def _is_absence(query: QueryResult) -> bool:
    return query.actual.startswith("no `")


def _is_audited(path: str, inputs: Inputs) -> bool:
    file = inputs.sources.get(path)
    return file is not None and not file.is_test


def cells_against_code(results: Results, inputs: Inputs) -> Iterator[Contradiction]:
    """The contract says that nothing drives or scales, and AMP code, or a finding about a scaler, lies there."""
    static = results.static
    if static is None:
        return
    for aspect, (nothing, kinds) in _NOWHERE.items():
        row = static.contract.row(aspect)
        declared = row.declared if row is not None else ()
        if not declared or not all(each.value.startswith(nothing) for each in declared):
            continue
        found = [(f"`{each.text}`", each.path, each.line) for each in static.constructs if each.kind in kinds]
        found += [
            (f"{each.rule} {each.name}", each.path, each.line) for _, each in results.findings if each.rule in DONE_BY
        ]
        audited = (each for each in found if _is_audited(each[1], inputs))
        for what, path, line in islice(audited, 1):
            yield _contradiction(aspect, declared[0], what, path, line)


def _contradiction(aspect: Aspect, declared: Declaration, what: str, path: str, line: int) -> Contradiction:
    return Contradiction(
        name="cell-against-code",
        stages=("static",),
        text=f"the contract says `{declared.value}` of the {aspect.value}, and {what} is here",
        stands=_STANDS,
        path=path,
        line=line,
        action="report this: a cell of the contract may not say that nothing is there",
    )
