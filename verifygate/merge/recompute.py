"""Recompute measurements, and the statuses that rest on them, from their samples; find those that are cited."""

from __future__ import annotations

from collections.abc import Iterator

from verifygate.merge.inputs import Inputs, Results
from verifygate.model import Contradiction, Measurement, Status
from verifygate.requirements.calculations import meets, of_measurement


def summaries(results: Results, _inputs: Inputs) -> Iterator[Contradiction]:
    """A reported value that its own samples, interval or target speak against."""
    taken = tuple(results.measurements.values())
    for stage in results.stages:
        for item in stage.measurements:
            if problem := contradicted(item, taken):
                yield Contradiction(
                    name="summary-against-samples",
                    stages=(stage.stage,),
                    text=f"{item.id}: {problem}",
                    stands="the samples: whatever rests on the summary fails",
                    blocks=True,
                    lowers=results.resting_on(item.id),
                    to=Status.FAIL,
                    action="measure again; never write a summary by hand",
                )
            elif problem := unsupported(item):
                yield Contradiction(
                    name="pass-without-samples",
                    stages=(stage.stage,),
                    text=f"{item.id} is PASS, and {problem}",
                    stands="a number without samples is a declaration: not measured",
                    lowers=results.resting_on(item.id),
                    to=Status.NOT_MEASURED,
                    action="measure it, and keep the samples",
                )


def contradicted(item: Measurement, taken: tuple[Measurement, ...]) -> str:
    """Why the value cannot be what the samples say; empty where it can, and where there is nothing to compare."""
    calculation = of_measurement(item, taken)
    if calculation is not None and calculation.status is Status.FAIL:
        return calculation.reason
    if item.low is not None and item.high is not None and item.low > item.high:
        return "its interval ends before it begins"
    for arm in item.arms:
        if arm.samples is not None and arm.n != len(arm.samples):
            return f"{arm.name} does not hold as many samples as it says"
    known = item.value if item.value is not None else item.low
    if item.status is Status.PASS and known is not None and not meets(item.target, known):
        return f"the status is PASS, and the value misses the target {item.target}"
    return ""


def unsupported(item: Measurement) -> str:
    """Why a measurement that is PASS shows nothing; empty where it does, or is not PASS."""
    if item.status is not Status.PASS:
        return ""
    if not item.kind.satisfies:
        return f"its evidence is only {item.kind}"
    if item.value is None and item.low is None:
        return "it holds no value"
    if item.value is not None and not any(arm.samples for arm in item.arms):
        return "it holds no samples"  # a floor alone has none: the arm that does not fit on the device took no step
    return ""


def cited_measurements(results: Results, _inputs: Inputs) -> Iterator[Contradiction]:
    """A check, or a requirement, that is PASS on a measurement that is not there or has no value."""
    cited = [(check.id, check.measurement) for check in results.checks.values() if check.measurement]
    cited += [(f"requirements.{row.id}", each) for row in results.rows for each in row.measurements]
    for name, measurement in dict.fromkeys(cited):
        check = results.checks.get(name)
        if check is None or check.status is not Status.PASS:
            continue
        found = results.measurements.get(measurement)
        if found is None:
            problem = "there is no such measurement"
        elif found.value is None and found.low is None:
            problem = "it was not measured"
        elif not found.kind.satisfies:
            problem = f"its evidence is only {found.kind}"
        else:
            continue
        yield Contradiction(
            name="pass-without-measurement",
            stages=tuple(dict.fromkeys((name.partition(".")[0], "performance"))),
            text=f"`{name}` is PASS on the measurement {measurement}, and {problem}",
            stands="without a measurement it is not measured",
            lowers=(name,),
            to=Status.NOT_MEASURED,
            action=check.remedy or "take the measurement: `verifygate run`",
        )
