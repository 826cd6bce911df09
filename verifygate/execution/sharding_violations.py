"""What a run shows of sharding by a policy: weights that were half before it casts, and gradients summed in half."""

from __future__ import annotations

from collections.abc import Iterator

from verifygate.execution.observed_violation import ObservedViolation
from verifygate.execution.recorded_trace import Section
from verifygate.execution.trace_summary import LOW
from verifygate.protocol import Violation


def violations_of_sharding(section: Section) -> Iterator[ObservedViolation]:
    """AMP802 of shards that torch's own optimizer steps, without float32 masters; AMP803 of sums over several ranks."""
    sharded = {event.number: event for event in section.events if event.kind == "sharded"}
    half = [each for each in sharded.values() if each.fields["dtype"] in LOW and each.fields.get("policy") in LOW]
    for updates in section.events if half else ():
        if updates.kind == "updates" and updates.fields.get("movable") is not None:
            stepped = next((each for each in half if each.fields["dtype"] == updates.fields["dtype"]), None)
            if stepped is not None:
                yield ObservedViolation(Violation.POLICY_OVER_HALF_WEIGHTS, stepped, updates, (stepped, updates))
                break
    reduced = next((event for event in section.events if event.kind == "reduced"), None)
    if reduced is not None:
        made = sharded.get(reduced.fields["made"], reduced)
        yield ObservedViolation(Violation.HALF_REDUCTION, made, reduced, (made, reduced))
