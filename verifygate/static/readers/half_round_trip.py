"""AMP707 off the machine: weights that an optimizer has are cast to half, and back to float32."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verifygate.base.records import record
from verifygate.events.record import Dtypes
from verifygate.model import Severity
from verifygate.static.machine.observations import Cast, Loaded, Optimized, Weights
from verifygate.static.machine.programs import Run
from verifygate.static.machine.trace import Emitted
from verifygate.static.machine.values import Part, Place
from verifygate.static.readers.judgement import Judged, Violated, judged

_HALVES: Dtypes = frozenset({"float16", "bfloat16"})
_FLOAT32: Dtypes = frozenset({"float32"})


@record
class _Halved:
    """Where a part was made half last."""

    place: Place
    emitted: Emitted


def violations(runs: Iterable[Run]) -> Iterator[Violated]:
    """Each cast to half of weights that are trained which a cast back follows, and no state that is loaded again."""
    for run in runs:
        found: dict[Place, tuple[Violated, frozenset[Part]]] = {}
        trained: dict[Part, Place] = {}
        halved: dict[Part, _Halved] = {}
        for each in run.events:
            match each.seen:
                case Optimized() as seen if seen.place is not None:
                    trained |= {weights.part: seen.place for weights in seen.weights if weights.part is not None}
                case Cast(before=before, after=after):
                    back = _brought_back(each, before, after, trained, halved)
                    if back is not None and (back[0].place not in found or back[0].certain):
                        found[back[0].place] = back
                    _note(each, after, trained, halved)
                case Loaded(parts=parts):
                    found = {place: kept for place, kept in found.items() if not kept[1] <= parts}
        yield from (each for each, _ in found.values())


def _note(
    emitted: Emitted, after: tuple[Weights, ...], trained: dict[Part, Place], halved: dict[Part, _Halved]
) -> None:
    for each in after:
        if each.part in trained and each.dtypes and each.dtypes <= _HALVES and each.place is not None:
            halved[each.part] = _Halved(each.place, emitted)


def _brought_back(
    emitted: Emitted,
    before: tuple[Weights, ...],
    after: tuple[Weights, ...],
    trained: dict[Part, Place],
    halved: dict[Part, _Halved],
) -> tuple[Violated, frozenset[Part]] | None:
    wide = {each.part for each in after if each.dtypes == _FLOAT32}
    states = [each for each in before if each.part in wide and each.part in halved]
    rounded = [each for each in states if (each.dtypes | each.rounded) & _HALVES and each.dtypes != _FLOAT32]
    rounded += [each for each in states if each.dtypes == _FLOAT32 and each.decisions and each.rounded & _HALVES]
    if not rounded or rounded[0].part is None:
        return None
    made = halved[rounded[0].part]
    fully = all(each.dtypes and each.dtypes <= _HALVES for each in states)
    verdict = judged(emitted, (each.decisions for each in rounded), all_states=fully)
    if verdict.certain and made.emitted.decisions:
        verdict = Judged(False, " and ".join(sorted(map(str, made.emitted.decisions))))
    here = Place(emitted.event.file, emitted.event.line)
    steps = (
        (trained[rounded[0].part], "the optimizer of the model"),
        (made.place, "the cast"),
        (here, "the cast back"),
    )
    message = f"the cast rounds the weights that are trained, and the one at {here} does not bring back what is lost"
    parts = frozenset(each.part for each in rounded if each.part is not None)
    return Violated("AMP707", made.place, message, verdict.certain, Severity.HIGH, verdict.assumes, steps), parts
