"""AMP703 off the machine: whole numbers that count something, in a dtype that does not have all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isinf

from verifygate.model import Severity
from verifygate.static.machine.observations import Counted
from verifygate.static.machine.programs import Run
from verifygate.static.machine.values import Place
from verifygate.static.readers.judgement import Judged, Violated, judged

TOLD_APART = {"bfloat16": 256.0, "float16": 2048.0}
"""The whole numbers up to which a dtype has all of them."""


def violations(runs: Iterable[Run]) -> Iterator[Violated]:
    """Each tensor of positions or time steps that is made, or made half, beyond these."""
    for run in runs:
        for each in run.events:
            seen = each.seen
            if not isinstance(seen, Counted) or not seen.dtypes or not seen.dtypes <= TOLD_APART.keys():
                continue
            limit = max(TOLD_APART[dtype] for dtype in seen.dtypes)
            if seen.largest > limit:
                here, is_known = Place(each.event.file, each.event.line), not isinf(seen.largest)
                beyond = f"{seen.largest:g} are counted" if is_known else "it is not told how many are counted"
                verdict = judged(each, (), all_states=True)
                if verdict.certain and not is_known:
                    verdict = Judged(False, beyond)
                yield Violated(
                    "AMP703",
                    here,
                    f"it counts in {' or '.join(sorted(seen.dtypes))}, which tells whole numbers apart up to "
                    f"{limit:g}; {beyond}",
                    verdict.certain,
                    Severity.HIGH,
                    verdict.assumes,
                )
