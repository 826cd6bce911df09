"""The edges of the domain, put in front of the project's training: what does it do there?

Each probe says what it did to the run, and judges by one question: did the run either cope, or stop with a word?
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from verifygate.base.counts import counted
from verifygate.execution.endings import Kind
from verifygate.execution.oracles import inf_injection
from verifygate.execution.oracles.answers import Answer, Blame, Fact, died
from verifygate.execution.oracles.runs import Event, Seen, place
from verifygate.model import Status
from verifygate.protocol import Violation

STREAK = 200
"""So many overflows in a row."""
LEAST_SCALE = 2.0**-24
"""A scale below this undoes more than float16 could ever need: nothing but a broken gradient leads there."""


@dataclass(frozen=True)
class Probe:
    """One edge case."""

    name: str
    """`execution.edge-NAME` is the id of its check."""
    title: str
    expected: str


PROBES = (
    Probe("nan-loss", "A NaN loss does no harm", "the step is skipped, or the run stops before its weights change"),
    Probe(
        "overflow-streak",
        f"{STREAK} overflows in a row do not pass in silence",
        "the run stops, or keeps the scale from falling to nothing",
    ),
    Probe(
        "no-cuda", "Without CUDA the run copes or says so", "AMP is on and works, is off by choice, or the run refuses"
    ),
    Probe(
        "mps-only", "With MPS alone the run copes or says so", "AMP is on and works, is off by choice, or it refuses"
    ),
    Probe(
        "pre-ampere",
        "On a GPU without bfloat16 of its own the run copes or says so",
        "float16 with a scaler, AMP off by choice, or the run refuses",
    ),
    Probe(
        "half-parameters", "Float16 parameters are refused", "the run stops: a scaler cannot unscale float16 gradients"
    ),
)


def nan_loss(seen: Seen, guarded: bool) -> Answer:
    """A NaN loss may stop the training: many programs refuse to go on with one, and they are right."""
    return inf_injection.judge(seen, guarded=guarded, may_stop=True, what="NaN in a model's output")


def overflow_streak(seen: Seen, guarded: bool) -> Answer:
    """What many overflows in a row do to the scale."""
    if not guarded:
        return Answer(Status.NOT_APPLICABLE, "no scaler is on in this entry")
    count = sum(1 for _ in seen.of("poisoned"))
    updates = list(seen.of("updated"))
    if count and not updates and (dead := died(seen, f"at the first overflow the entry {seen.ending}")) is not None:
        return dead
    if not count or not updates:
        return Answer(Status.NOT_MEASURED, f"no overflow came about: the entry {seen.ending}")
    least = min(event["after"] for event in updates)
    if (anew := _made_anew(seen)) is not None:
        return anew
    broken = next((step for step in seen.steps if not step["finite"]), None)
    if broken is not None:
        text = f"after overflow {_before(seen, broken)} the scale has reached {least:g} and the weights are NaN"
        return Answer(Status.FAIL, text, (Fact(text, place(broken)),), (), _FLOOR)
    if seen.error is not None:
        text = f"after {counted(count, 'overflow')}, at scale {updates[-1]['after']:g}, the entry {seen.ending}"
        return died(seen, text) or Answer(Status.PASS, text, (Fact(text, place(seen.error)),))
    if least < LEAST_SCALE:
        at = next(event for event in updates if event["after"] < LEAST_SCALE)
        text = f"after {counted(count, 'overflow')} the scale is {updates[-1]['after']:g}, and nothing was said"
        return Answer(Status.PARTIAL, text, (Fact(text, place(at)),), (), _FLOOR)
    if least >= updates[0]["before"]:
        text = f"after {counted(count, 'overflow')} the scale is {updates[-1]['after']:g}: the scaler never saw one"
        return Answer(
            Status.PARTIAL, text, (Fact(text, place(updates[-1])),), (), "let nothing rewrite scaled gradients"
        )
    if count < STREAK:
        text = f"the entry ended after {counted(count, 'overflow')}, at scale {updates[-1]['after']:g}"
        return Answer(Status.NOT_MEASURED, text, (Fact(text),), (), f"let the entry make {STREAK} steps")
    text = f"after {counted(count, 'overflow')} the scale is {updates[-1]['after']:g}"
    return Answer(Status.PASS, text, (Fact(text, place(updates[-1])),))


def _made_anew(seen: Seen) -> Answer | None:
    """FAIL where the scale that the overflows have lowered is lost, because a scaler is built in the loop."""
    later = [scaler for scaler in seen.of("scaler") if scaler["window"] > 0 and not _takes_up(scaler, seen)]
    if not later or not any(scaler["site"] == first["site"] for scaler in later for first in seen.of("scaler")):
        return None
    text = f"a scaler is built in the loop: its scale is back at {later[0]['scale']:g} whatever it has learned"
    blame = Blame(Violation.SCALER_RECREATED, place(later[0]), text)
    return Answer(Status.FAIL, text, (Fact(text, blame.place),), (blame,), "build the scaler once, before the loop")


def _takes_up(scaler: Event, seen: Seen) -> bool:
    """Whether a scaler that is built later goes on with the scale of the last update: its state was loaded."""
    at = next(at for at, event in enumerate(seen.events) if event is scaler)
    before = [event["after"] for event in seen.events[:at] if event["event"] == "updated"]
    behind = [event["before"] for event in seen.events[at:] if event["event"] == "updated"]
    return bool(before and behind and before[-1] == behind[0] != scaler["scale"])


_FLOOR = "stop when the scale falls below a floor, 1 for example: gradients that overflow there are broken, not large"


def _before(seen: Seen, until: object) -> int:
    count = 0
    for event in seen.events:
        if event is until:
            break
        count += event["event"] == "poisoned"
    return count


def device_missing(seen: Seen, _guarded: bool) -> Answer:
    """Whether a run without its device copes, refuses, or has AMP taken away without noticing."""
    if (error := seen.error) is not None:
        return _ended_without_device(seen, error)
    lost = [scaler for scaler in seen.of("scaler") if scaler["asked"] and not scaler["enabled"]]
    if lost:
        text = "a GradScaler that was asked for is off, with a warning at most: the run goes on without AMP"
        remedy = "give the scaler the device type that is really used"
        return Answer(Status.PARTIAL, text, (Fact(text, place(lost[0])),), (), remedy)
    steps = [step for step in seen.steps if step["moved"]]
    if not steps:
        return Answer(Status.NOT_MEASURED, f"no step moved the weights: the entry {seen.ending}")
    if not all(step["finite"] for step in steps):
        text = "the weights become inf or NaN"
        return Answer(Status.FAIL, text, (Fact(text, place(steps[-1])),), (), "look at the precision chosen there")
    regions = sorted({_region(event) for event in seen.of("autocast") if event["enabled"]})
    scaler = "with a live scaler" if any(event["enabled"] for event in seen.of("scaler")) else "without a scaler"
    text = f"{len(steps)} steps, {scaler}, autocast: {', '.join(regions) or 'off'}"
    asked = next((event for event in seen.of("delegated") if event["precision"] in ("fp16", "bf16")), None)
    if asked is not None and not regions and scaler == "without a scaler":
        text = f"{asked['framework']} was asked for {asked['precision']}, and trains in float32 without a word: {text}"
        remedy = 'ask for `mixed_precision="no"` where there is no CUDA, or stop there'
        return Answer(Status.PARTIAL, text, (Fact(text, place(asked)),), (), remedy)
    return Answer(Status.PASS, text, (Fact(text, place(steps[0])),))


def _ended_without_device(seen: Seen, error: Event) -> Answer:
    """Whether a run that ended badly refused to go on, or ran into the missing device."""
    text, end = f"the entry {seen.ending}", seen.end
    if (dead := died(seen, text)) is not None:
        return dead
    if end is None or (not end.place[0] and error.get("how") == "raised"):
        return Answer(Status.NOT_MEASURED, text, (Fact(text),), (), "let the entry start on this machine")
    if end.kind is not Kind.REFUSAL:
        text += " (torch's own error: the entry does not ask whether the device is there)"
        return Answer(Status.PARTIAL, text, (Fact(text, end.place),), (), "choose the device by what is there")
    return Answer(Status.PASS, text, (Fact(text, end.place),))


def pre_ampere(seen: Seen, guarded: bool) -> Answer:
    """What is computed on an (emulated) GPU that has no units for bfloat16; torch lets it pass there, slowly."""
    regions = [event for event in seen.of("autocast") if event["enabled"] and event["device"] == "cuda"]
    brain = next((event for event in regions if event["dtype"] == "torch.bfloat16"), None)
    half = next((event for event in regions if event["dtype"] == "torch.float16"), None)
    if seen.error is None and brain is not None:
        text = "bfloat16 is asked of a GPU that has none of its own: torch computes it there, slower than float16"
        remedy = "ask `torch.cuda.is_bf16_supported(including_emulation=False)`; else float16, with a scaler"
        return Answer(Status.PARTIAL, text, (Fact(text, place(brain)),), (), remedy)
    if seen.error is None and half is not None and not any(event["enabled"] for event in seen.of("scaler")):
        text = "it falls back to float16 without a scaler: small gradients become 0"
        return Answer(Status.FAIL, text, (Fact(text, place(half)),), (), "enable the scaler for float16")
    return device_missing(seen, guarded)


def _region(event: dict[str, object]) -> str:
    return f"{str(event['dtype']).removeprefix('torch.')} on {event['device']}"


def half_parameters(seen: Seen, guarded: bool) -> Answer:
    """Parameters that somebody made float16: torch refuses, but not for every optimizer."""
    if not guarded:
        return Answer(Status.NOT_APPLICABLE, "no scaler is on in this entry")
    if seen.error is not None and seen.error["event"] == "ended":
        text = f"the entry {seen.ending}"
        return died(seen, text) or Answer(Status.PASS, text, (Fact(text, place(seen.error)),))
    moved = next((step for step in seen.steps if step["moved"]), None)
    if moved is None:
        return Answer(Status.NOT_MEASURED, f"the entry {seen.ending}, without a step")
    text = "float16 parameters are trained, and nothing is said"
    return Answer(
        Status.PARTIAL, text, (Fact(text, place(moved)),), (), "check the parameters' dtype once, at the start"
    )


JUDGES: dict[str, Callable[[Seen, bool], Answer]] = {
    "nan-loss": nan_loss,
    "overflow-streak": overflow_streak,
    "no-cuda": device_missing,
    "mps-only": device_missing,
    "pre-ampere": pre_ampere,
    "half-parameters": half_parameters,
}
