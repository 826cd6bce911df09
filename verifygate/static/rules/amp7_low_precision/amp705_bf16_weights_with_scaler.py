"""A GradScaler steps weights in bfloat16: on CUDA it raises.

## What it does
Reports the first `unscale_` or `step` of a live scaler for an optimizer over parameters that a cast or a `dtype` made
bfloat16, and a YAML of axolotl, LLaMA-Factory or TRL by which the Trainer does so.

## Impact
Training stops at its first step on CUDA, although the tests pass on a CPU.

## Why is this bad
torch has no kernel that looks for inf in bfloat16 gradients on CUDA and unscales them. On a CPU it has one, so tests on
a CPU pass, and the program stops at its first step on the machine that it is for. Nothing is lost with the scaler:
bfloat16 has the exponent range of float32, and no gradient that float32 holds flushes to zero in it.

## What happens at run time
On CUDA `NotImplementedError: "_amp_foreach_non_finite_check_and_unscale_cuda" not implemented for 'BFloat16'`
(emulated here, torch 2.13). On a CPU it trains. The CUDA library of torch 2.14.1 unscales gradients in float16, float32
and float64, so there it raises, too. A change that adds bfloat16 is proposed
(https://github.com/pytorch/pytorch/pull/194947); with a release that has it, this rule is no longer critical.

## Example
```python
import torch


def train(model, loss_fn, scaler, batches, device):
    model.to(torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler(device)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_fn(model(inputs.bfloat16()), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch


def train(model, loss_fn, batches, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()
```

## Fix safety
No fix: whether the weights are to be float32, with autocast, or bfloat16, without a scaler, is the author's choice.

## What it cannot see
Dtypes from configurations, parameters that are chosen one by one, and optimizers that are not built in sight. Fused
optimizers, which unscale themselves, are reported as likely.

## References
- https://github.com/pytorch/pytorch/issues/127176
"""

from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.amp.roles import ScalerKind
from verifygate.static.amp.scaler_calls import ScalerCall
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.idioms.half_weights import half_models, is_unscaled_for, optimizer_calls
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import ExternalResult

RULE = Rule(
    code="AMP705",
    name="bf16-weights-with-scaler",
    severity=Severity.CRITICAL,
    summary="a GradScaler steps bfloat16 weights, which raises on CUDA",
    remedy="leave the scaler out, and keep the weights in float32 under bfloat16 autocast",
    words=("GradScaler", "unscale_", "scaler"),
    proof="raised-error-on-cuda",
)


def check(analysis: Analysis) -> Iterator[Match]:
    """The first call for each optimizer in a function."""
    seen: set[tuple[Function, Location]] = set()
    calls = [each for each in analysis.scaler_calls if each.method in ("step", "unscale_")]
    for each in sorted(calls, key=lambda each: (each.place.path, each.place.line)):
        if each.optimizer is None or each.scaler.kind is ScalerKind.IDLE or _is_for_a_cpu(each, analysis):
            continue
        enabled = each.scaler.enabled
        if enabled is not None and analysis.evaluator.truth(enabled.expr, enabled.frame) is False:
            continue
        values = analysis.evaluator.values(each.optimizer, each.frame)
        for call, home in (built for value in values for built in optimizer_calls(value)):
            optimizer = Location(home.function, call)
            for _, way in half_models(analysis, call, home, Dtype.BFLOAT16):
                if (each.function, optimizer) in seen or not (way.sure or enabled is None):
                    continue
                if not analysis.path_conditions.all_agree(way.cast, optimizer, each.place):
                    continue
                seen.add((each.function, optimizer))
                options = {word.arg for word in call.keywords}
                sure = way.sure and enabled is None and each.is_certain and len(values) == 1
                plain = is_unscaled_for(each.optimizer, each.frame, analysis) and not options & {"fused", None}
                yield Match(
                    each.place,
                    f"`{statement_text(each.place)}` unscales bfloat16 gradients, which CUDA has no kernel for",
                    certain=bool(sure and plain),
                    steps=(
                        (way.cast, "the weights are made bfloat16"),
                        (optimizer, "the optimizer"),
                        (each.place, "raises"),
                    ),
                )


def _is_for_a_cpu(each: ScalerCall, analysis: Analysis) -> bool:
    """Whether the scaler is built for a CPU and nothing else, where the kernel is there."""
    found = [
        analysis.devices.types(given, frame)
        for value in analysis.evaluator.values(each.receiver, each.frame)
        if isinstance(value, ExternalResult)
        for call, frame in value.calls[:1]
        for given in (*call.args[:1], *(word.value for word in call.keywords if word.arg == "device"))
    ]
    return bool(found) and all(types == {"cpu"} for types in found)
