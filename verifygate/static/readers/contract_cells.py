"""The precision contract off the machine: what each part of a training is at the events that use it.

At a step the dtype of the parameters that are trained, and with it that of their gradients and of the optimizer's
state; at a backward that of the loss; at the entry of a region what is computed in, apart for training and evaluation;
at a save what goes to disk; at a reduction what ranks add in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verifygate.base.records import record, replace
from verifygate.events.record import Dtypes, Kind
from verifygate.model.precision_contract import Aspect, Declaration
from verifygate.static.machine.observations import Optimized
from verifygate.static.machine.programs import Run
from verifygate.static.machine.trace import Emitted
from verifygate.static.machine.values import Decisions, Place
from verifygate.static.readers.judgement import options

FOLLOWED = "an abstract run of the program"
"""The note of what a run says."""
_OF_TENSORS = {Kind.BACKWARD: Aspect.LOSS, Kind.SAVE: Aspect.CHECKPOINT, Kind.REDUCE: Aspect.REDUCTION}
_FOLLOWS = (Aspect.WEIGHTS, Aspect.GRADIENTS, Aspect.OPTIMIZER_STATE)
"""torch makes gradients in the dtype of the weights that own them, and optimizers their state, unless they say."""


@record
class Cell:
    """What one event says of an aspect; a cell without dtypes is a gap, and says why."""

    aspect: Aspect
    dtypes: Dtypes
    place: Place
    condition: str = ""
    """The options under which it holds."""
    reason: str = ""

    @property
    def declaration(self) -> Declaration:
        """What it says in a row of the contract."""
        return Declaration(
            value=" or ".join(sorted(self.dtypes)),
            path=self.place.path,
            line=self.place.line,
            note=FOLLOWED,
            condition=f"where `{self.condition}`" if self.condition else "",
        )


def cells(runs: Iterable[Run]) -> list[Cell]:
    """All that these runs say, each once, in order."""
    found = (cell for run in runs for each in (*run.events, *_switched_on(run)) for cell in _of_event(each))
    return sorted(dict.fromkeys(found), key=lambda each: (each.aspect, each.place, sorted(each.dtypes), each.condition))


def _switched_on(run: Run) -> Iterator[Emitted]:
    """The first operator on several tensors in each region that nobody entered: a switch of the process opened it."""
    entered = {event.region for each in run.events if (event := each.event).kind is Kind.REGION_ENTER}
    for each in run.events:
        event = each.event
        computes = event.kind is Kind.OPERATOR and len(event.dtypes_in or ()) > 1
        if computes and event.region is not None and event.region not in entered:
            entered.add(event.region)
            dtypes = (frozenset({event.region.dtype}),)
            yield replace(each, event=replace(event, kind=Kind.REGION_ENTER, dtypes_out=dtypes))


def _of_event(emitted: Emitted) -> Iterator[Cell]:
    event, seen = emitted.event, emitted.seen
    place = Place(event.file, event.line)
    if event.kind is Kind.STEP and isinstance(seen, Optimized):
        for each in seen.weights:
            if each.is_trained is not False:
                rest = (each.place or place, _condition(emitted.decisions | each.decisions), each.reason)
                is_copy = each.part is None and bool(each.rounded - each.dtypes)  # gradients are those of the original
                for aspect in _FOLLOWS if not is_copy else (Aspect.WEIGHTS, Aspect.OPTIMIZER_STATE):
                    of_its_own = seen.state if aspect is Aspect.OPTIMIZER_STATE else frozenset()
                    yield Cell(aspect, of_its_own or each.dtypes, *rest)
    elif event.kind in _OF_TENSORS:
        for dtypes in dict.fromkeys(event.dtypes_in or ()):
            reason = "" if dtypes else "the tensors are not followed"
            yield Cell(_OF_TENSORS[event.kind], dtypes, place, _condition(emitted.decisions), reason)
    elif event.kind is Kind.REGION_ENTER and (event.region is None or event.region.enabled):
        aspect = Aspect.EVALUATION if event.grad_mode is False else Aspect.COMPUTE
        for dtypes in event.dtypes_out or ():
            reason = "" if dtypes else "the dtype of the region is not known"
            yield Cell(aspect, dtypes, place, _condition(emitted.decisions), reason)


def _condition(decisions: Decisions) -> str:
    return " and ".join(options(decisions))
