"""DeepSpeed trains in float16 with a loss scale that never changes.

## What it does
Reports `loss_scale` in DeepSpeed's `fp16` section where it is a number other than 0: 0 means dynamic. It is *certain*
where code names the file.

## Impact
A scale that is too low lets small gradients become zero, and one that is too high loses step after step, as nothing
adapts it.

## Why is this bad
A fixed scale does not follow the gradients. Too low, they become zero in float16; too high, steps overflow, and every
step that does is left out without the scale going down. With 1 there is no scaling at all.

## What happens at run time
Silent for a scale that is too low; steps that are left out one after the other for one that is too high.

## Example
```python
import deepspeed


def build(model):
    config = {"train_batch_size": 8, "fp16": {"enabled": True, "loss_scale": 1}}
    return deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
```

## Use instead
```python
import deepspeed


def build(model):
    config = {"train_batch_size": 8, "fp16": {"enabled": True, "loss_scale": 0}}
    return deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
```

## Fix safety
No fix: the scale may have been chosen for a reason.

## What it cannot see
A scale that code sets, and whether the gradients of this model fit the fixed one.

## References
- https://www.deepspeed.ai/docs/config-json/#fp16-training-options
"""

from collections.abc import Iterable

from verifygate.configured_precision.setting import Setting
from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.deepspeed_tables import WORDS, tables
from verifygate.static.rule import ConfigurationMatch, Match, Rule

RULE = Rule(
    code="AMP903",
    name="static-loss-scale",
    severity=Severity.MEDIUM,
    summary="DeepSpeed trains in float16 with a loss scale that never changes",
    remedy="write `loss_scale: 0`, which adapts it, or leave it out",
    words=WORDS,
    reads_configuration=True,
    no_proof="DeepSpeed's engine needs a device that it supports",
)


def check(analysis: Analysis) -> Iterable[Match | ConfigurationMatch]:
    """Every `loss_scale` that is a number, in a section that is on or may be."""
    for table in tables(analysis):
        enabled, entry = table.value("fp16.enabled"), table.entries.get("fp16.loss_scale")
        if entry is None or enabled not in ("true", "1", "auto"):
            continue
        try:
            scale = float(entry.setting.value)
        except ValueError:
            continue
        if scale == 0:
            continue
        what = "which scales nothing" if scale == 1 else "which never changes"
        message = f"the loss scale is fixed at {entry.setting.value}, {what}"
        certain, severity = enabled != "auto", Severity.HIGH if scale == 1 else None
        steps = ((table.entries["fp16.enabled"].place, "float16 is on"), (entry.place, "with a fixed scale"))
        if isinstance(entry.place, Setting):
            sure = certain and bool(entry.place.reach)
            yield ConfigurationMatch(entry.place, message, sure, steps, severity=severity)
        else:
            yield Match(entry.place, message, certain, steps, severity=severity)
