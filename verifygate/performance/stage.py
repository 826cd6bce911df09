"""The performance stage: FP32 against AMP on the device that is there, measured, with all that it rests on."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence

from verifygate.config import PerformanceSettings
from verifygate.model import Outcome, PerformanceDetails, StageResult
from verifygate.performance import reported
from verifygate.performance.attestation.acceptance import Ruling, examined, found_records, terms
from verifygate.performance.case import Case
from verifygate.performance.judgement import beside, judge, undecided
from verifygate.performance.protocol import compare, planned
from verifygate.performance.record import Comparison
from verifygate.performance.recorded import completed
from verifygate.stage import StageContext, not_configured

HOW = (
    'set `performance.workload = "module:function"` in verifygate.toml to a function '
    "`build(precision, seed, device) -> workload` with step(), evaluate(), effective_steps and samples_per_step"
)


class PerformanceStage:
    """Measures what AMP gains and what it costs, and judges it against `[performance.targets]`."""

    name = "performance"

    def run(self, context: StageContext) -> StageResult:
        """Compare the arms. Whatever the workload does is a result, never an exception."""
        settings = context.settings.performance
        if not settings.workload:
            return not_configured(self.name, HOW)
        began = time.monotonic()
        comparison = compare(context.subject, settings, context.progress, lambda so_far: undecided(so_far, settings))
        rulings = () if comparison.accelerated else _consulted(context)
        return summarised(comparison, settings, rulings).model_copy(update={"seconds": time.monotonic() - began})


def _consulted(context: StageContext) -> tuple[Ruling, ...]:
    """What the records there are can tell of what needs an accelerator."""
    settings = context.settings
    paths = found_records(settings.root, settings.performance.records.paths)
    if not paths:
        return ()
    asked = terms(settings, planned(settings.performance), context.since, dt.datetime.now(dt.UTC))
    return tuple(examined(path, asked) for path in paths)


def summarised(comparison: Comparison, settings: PerformanceSettings, rulings: Sequence[Ruling] = ()) -> StageResult:
    """The stage's result, as a pure function of what the arms delivered, and of what records add to it."""
    answers = completed(judge(comparison, settings), rulings, settings)
    judged = [measurement for answer in answers for measurement in answer.measurements]
    return StageResult(
        stage=PerformanceStage.name,
        outcome=Outcome.COMPLETED,
        checks=tuple(answer.check for answer in answers),
        measurements=(
            *judged,
            *beside(comparison, settings),
            *reported.measurements(Case(comparison, settings, comparison.judged)),
        ),
        environment=reported.environment(comparison),
        details=PerformanceDetails(
            workload=settings.workload,
            protocol=(
                *reported.protocol(comparison),
                *((f"record {ruling.path}", ruling.told) for ruling in rulings),
            ),
            hazards=(*reported.hazards(comparison), *reported.others_failed(comparison)),
        ),
    )
