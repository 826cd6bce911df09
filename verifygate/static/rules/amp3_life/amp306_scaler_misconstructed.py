"""A GradScaler's argument goes to another parameter than it is meant for.

## What it does
Reports

- a number or a boolean as the first argument of `torch.amp.GradScaler`, which is the device;
- a string, or a switch such as `use_amp`, as the first argument of the deprecated constructors, which is the initial
  scale;
- a keyword that the constructor does not have, such as `device_type`, `dtype`, or `device` for a deprecated one;
- a growth factor that does not grow, or a backoff factor that does not back off;
- a scaler for CUDA, which is the default, where every region whose losses it scales is in float16, and the source tells
  that each is for other devices only.

## Impact
The scaler starts at another scale than was asked for, or is on where it was to be off.

## Why is this bad
Nothing checks the device, so the number is gone and the scaler starts at 65536, or stays on although it was to be off.
With `GradScaler(use_amp)` the initial scale is 1, or 0, and the scaler is on in both cases. A scaler for CUDA turns
itself off where there is no CUDA, and float16 gradients are left without a scale.

## What happens at run time
Silent on 2.13 for the first two: `torch.amp.GradScaler(1024.0)` has `init_scale` 65536 and the device 1024.0. Factors
on the wrong side of 1 raise an AssertionError, keywords that are not there a TypeError. A scaler for CUDA on a machine
without it warns (`torch.cuda.amp.GradScaler is enabled, but CUDA is not available. Disabling.`) and goes on.

## Example
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    scaler = torch.amp.GradScaler(1024.0)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    scaler = torch.amp.GradScaler(device, init_scale=1024.0)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
No fix: the device has to be named, and what was meant has to be known.

## What it cannot see
Arguments from configurations whose name says nothing.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler
"""

import ast
import re
from collections.abc import Iterable

from verifygate.model import Severity, Witness
from verifygate.static.amp.scalers import ScalerAllocation
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.rule import Match, Rule
from verifygate.static.values.domain import ExternalName, Literal
from verifygate.torch_names import GRAD_SCALERS

RULE = Rule(
    code="AMP306",
    name="scaler-misconstructed",
    severity=Severity.MEDIUM,
    summary="a GradScaler's argument goes to another parameter than it is meant for",
    remedy="pass the device first and everything else by keyword",
    words=("GradScaler",),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="scale-trace",
)

_SWITCH = r"(?i)(^|_)(amp|fp16|use_amp|half|mixed|mixed_precision|enabled?|use_fp16)$"

_PLAIN = frozenset(name for name in GRAD_SCALERS if "Sharded" not in name)
_KEYWORDS = frozenset({"init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled"})


def check(analysis: Analysis) -> Iterable[Match]:
    """Every scaler whose arguments do not fit its parameters."""
    for scaler in analysis.scaler_allocations:
        if scaler.sharded:
            continue
        yield from _for_another_device(scaler, analysis)
        frame = analysis.evaluator.root_frame(scaler.function)
        values = analysis.evaluator.values(scaler.call.func, frame)
        names = {value.name for value in values if isinstance(value, ExternalName)}
        old = [any(part in name for part in (".cuda.", ".cpu.")) for name in names]
        if len(names) == 1 and scaler.call.args:
            yield from _first(scaler, old[0], analysis)
        if names <= _PLAIN and all(isinstance(value, ExternalName) for value in values):
            yield from _keywords(scaler, old)
        yield from _factors(scaler, analysis)


def _for_another_device(scaler: ScalerAllocation, analysis: Analysis) -> Iterable[Match]:
    """A scaler for CUDA that serves float16 regions for other devices only."""
    accelerators = analysis.accelerators
    for use in () if scaler.off else analysis.scaler_regions.uses(scaler):
        if not use.regions or not accelerators.is_for_cuda(use) or accelerators.built_for_cuda_only(use):
            continue
        if not all(accelerators.runs_never_on_cuda(region) for region in use.regions):
            continue
        if any(accelerators.has_one_for_each(use, region) for region in use.regions):
            continue
        region = use.regions[0]
        if all(analysis.region_dtypes.of(each) == {Dtype.FLOAT16} for each in use.regions):
            devices = " or ".join(sorted(analysis.devices.of(region.region)))
            yield Match(
                scaler.place,
                f"the scaler is for CUDA, and what it scales runs on {devices}: without CUDA it turns itself off, "
                "and float16 is left without a scale",
                certain=False,
                steps=((scaler.place, "the scaler"), (region.place, "the region")),
                remedy="build the scaler for the same device: `torch.amp.GradScaler(device)`",
            )
            return


def _first(scaler: ScalerAllocation, old: bool, analysis: Analysis) -> Iterable[Match]:
    """The first positional argument: the initial scale of the old constructors, the device of the new one."""
    argument = scaler.call.args[0]
    frame = analysis.evaluator.root_frame(scaler.function)
    values = analysis.evaluator.values(argument, frame)
    only = next(iter(values)) if len(values) == 1 else None
    literal = only.value if isinstance(only, Literal) else analysis.constants.number(argument, frame)
    text = ast.unparse(argument)
    name = getattr(argument, "attr", getattr(argument, "id", ""))
    if old and isinstance(literal, bool | str):
        yield Match(scaler.place, f"`{text}` is taken for the initial scale")
    elif old and literal is None and re.search(_SWITCH, name):
        yield Match(scaler.place, f"`{text}` is taken for the initial scale, and the scaler is on", certain=False)
    elif not old and isinstance(literal, int | float):
        yield Match(scaler.place, f"`{text}` is taken for the device, and the scale starts at 65536")
    elif not old and literal is None and re.search(_SWITCH, name):
        yield Match(scaler.place, f"`{text}` is taken for the device, and the scaler is on", certain=False)


def _keywords(scaler: ScalerAllocation, old: list[bool]) -> Iterable[Match]:
    """Keywords that none of torch's constructors has for which a name may stand: others may have any."""
    known = _KEYWORDS if all(old) else _KEYWORDS | {"device"}
    for word in scaler.call.keywords if old else ():
        if word.arg is not None and word.arg not in known:
            yield Match(scaler.place, f"`GradScaler` has no argument `{word.arg}`: it raises")


def _factors(scaler: ScalerAllocation, analysis: Analysis) -> Iterable[Match]:
    frame = analysis.evaluator.root_frame(scaler.function)
    for word in scaler.call.keywords:
        number = analysis.constants.number(word.value, frame)
        if number is None or scaler.enabled is not None:
            continue
        if word.arg == "growth_factor" and number <= 1:
            yield Match(scaler.place, f"a growth factor of {number:g} raises: it must be above 1")
        elif word.arg == "backoff_factor" and number >= 1:
            yield Match(scaler.place, f"a backoff factor of {number:g} raises: it must be below 1")
