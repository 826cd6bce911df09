"""The performance stage: FP32 against AMP on the device that is there, measured, with all that it rests on."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence

from verifygate.config.performance import PerformanceSettings
from verifygate.model import Finding, Outcome, PerformanceDetails, Profile, StageResult
from verifygate.performance import prediction, reported
from verifygate.performance.anatomy import attainable, growth_check, measurements, unreachable
from verifygate.performance.attestation.acceptance import Ruling, examined, found_records, newest, terms
from verifygate.performance.attested_answers import completed
from verifygate.performance.baselines import baselines, out_of_reach
from verifygate.performance.benchmark_json import read
from verifygate.performance.case import Case
from verifygate.performance.comparison import Comparison
from verifygate.performance.curves import curves
from verifygate.performance.hazards import answered
from verifygate.performance.intervals import missing_library
from verifygate.performance.judgement import beside, judge, undecided
from verifygate.performance.measuring import compare, planned
from verifygate.performance.profiling import hazards_of, profile
from verifygate.stage import StageContext, not_configured

HOW = (
    'set `performance.workload = "module:function"` in verifygate.toml to a function '
    "`build(precision, seed, device) -> workload` with step(), evaluate(), effective_steps and samples_per_step; or "
    "`performance.function`, or `performance.command`: see `verifygate docs performance`"
)
UNREACHABLE = (
    "the memory target is out of reach for autocast on this workload, even at its best: see measurement "
    "`memory-attainable`; parameters, gradients and optimizer state stay FP32"
)


class PerformanceStage:
    """Measures what AMP gains and what it costs, and judges it against `[performance.targets]`."""

    name = "performance"

    def run(self, context: StageContext) -> StageResult:
        """Compare the arms. Whatever the workload does is a result, never an exception."""
        settings = context.settings.performance
        if not settings.measured[1]:
            return not_configured(self.name, HOW)
        if missing := missing_library():
            return StageResult(stage=self.name, outcome=Outcome.ERRORED, reason=missing)
        began = time.monotonic()
        in_pytest = [read(context.settings.root, path) for path in settings.benchmarks]
        predicted: tuple[Profile, ...] = ()
        if settings.profile and settings.workload:
            predicted = prediction.predict(context.subject, settings, context.progress)
        comparison = compare(context.subject, settings, context.progress, lambda so_far: undecided(so_far, settings))
        rulings = () if comparison.accelerated else _consulted(context)
        static = context.results.get("static")
        hazards = hazards_of(static.findings if static else ())
        profiles: tuple[Profile, ...] = ()
        if settings.profile and settings.workload:  # a training that is held at its steps cannot be taken apart
            profiles = profile(context.subject, settings, comparison, hazards, context.progress)
        result = summarised(comparison, settings, rulings, profiles, hazards, predicted)
        shown = (measurement for each in in_pytest for measurement in each.measurements())
        update = {"seconds": time.monotonic() - began, "measurements": (*result.measurements, *shown)}
        return result.model_copy(update=update)


def _consulted(context: StageContext) -> tuple[Ruling, ...]:
    """What the records there are can tell of what needs an accelerator."""
    settings = context.settings
    paths = found_records(settings.root, settings.performance.records.paths)
    if not paths:
        return ()
    asked = terms(settings, planned(settings.performance), context.base, dt.datetime.now(dt.UTC))
    return tuple(examined(path, asked) for path in paths)


def _told_by_most(comparison: Comparison, rulings: Sequence[Ruling]) -> Comparison:
    """This comparison; where it is a CPU's, that of an accepted record."""
    record = None if comparison.accelerated else newest(rulings)
    return comparison if record is None or record.comparison is None else record.comparison


def summarised(
    comparison: Comparison,
    settings: PerformanceSettings,
    rulings: Sequence[Ruling] = (),
    profiles: Sequence[Profile] = (),
    hazards: Sequence[Finding] = (),
    predicted: Sequence[Profile] = (),
) -> StageResult:
    """The stage's result, as a pure function of what the arms delivered, what records add and what profiles show.

    `hazards` are the static stage's findings about speed and memory, which the profiles confirm or refute.
    """
    answers = completed(judge(comparison, settings), rulings, settings)
    device = comparison.host.device_name if comparison.host else "unknown"
    judged = [measurement for answer in answers for measurement in answer.measurements]
    return StageResult(
        stage=PerformanceStage.name,
        outcome=Outcome.COMPLETED,
        checks=(
            *(answer.check for answer in answers),
            *((growth_check(profiles, device),) if profiles else ()),
            *((prediction.check(predicted, settings.targets.memory_reduction),) if predicted else ()),
        ),
        measurements=(
            *judged,
            *beside(comparison, settings),
            *baselines(_told_by_most(comparison, rulings), settings),
            *reported.measurements(Case(comparison, settings, comparison.judged)),
            *measurements(profiles, device),
            *prediction.measurements(predicted, bound=attainable(profiles, device) is None),
        ),
        environment=reported.environment(comparison),
        details=PerformanceDetails(
            workload=settings.measured[1],
            protocol=(
                *reported.protocol(comparison),
                *((f"record {ruling.path}", ruling.told) for ruling in rulings),
            ),
            hazards=(
                *reported.hazards(comparison),
                *reported.others_failed(comparison),
                *filter(None, (out_of_reach(_told_by_most(comparison, rulings), settings.targets.speedup),)),
                *((UNREACHABLE,) if unreachable((*profiles, *predicted), settings.targets.memory_reduction) else ()),
            ),
            answers=answered(hazards, profiles),
            profiles=tuple(profiles) or None,
            curves=curves(comparison) or None,
        ),
    )
