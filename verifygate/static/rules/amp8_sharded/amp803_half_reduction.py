"""Ranks add up their gradients in half precision.

## What it does
Reports a mixed-precision policy of FSDP by which gradients are reduced in float16 or bfloat16: one that says so in
`reduce_dtype`, or has a half `param_dtype` and no `reduce_dtype`. Also DDP's `bf16_compress_hook` and
`fp16_compress_hook` (likely); the latter overflows sooner where a live GradScaler scales first.

## Impact
Small gradients are lost in the sum, the more the more ranks there are, and in float16 sums overflow and the scale
settles too low.

## Why is this bad
What a rank adds to a sum is rounded to the eight bits of bfloat16, once for each rank on the way; the more ranks, the
more is lost, and small gradients beside large ones are lost first. In float16 sums also overflow, and scaled gradients
overflow first: the scale settles lower than the training needs.

## What happens at run time
Silent on every torch. On 2.13 (two gloo ranks, CPU) the same training ends in other weights than with a reduction in
float32. Two ranks lose little; for the large runs that torch's own examples are for, they reduce in float32.

## Example
```python
import torch
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def train(model, loss_fn, batches):
    fully_shard(model, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_fn(model(inputs).float(), targets)
        loss.backward()
        optimizer.step()
```

## Use instead
```python
import torch
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def train(model, loss_fn, batches):
    fully_shard(model, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_fn(model(inputs).float(), targets)
        loss.backward()
        optimizer.step()
```

## Fix safety
No fix: it doubles what ranks send each other, which may have been the reason.

## What it cannot see
How many ranks there will be. Policies whose dtypes a setting decides, which are listed as not followed, and hooks of
the project's own.

## References
- https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
- https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html
"""

import re
from collections.abc import Iterator

from verifygate.model import Severity, Witness
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import HALVES, Dtype
from verifygate.static.idioms.sharding_policies import SHARDING, shard_calls
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.syntax.names import last_name

RULE = Rule(
    code="AMP803",
    name="half-reduction",
    severity=Severity.LOW,
    summary="ranks add up their gradients in half precision",
    remedy="reduce in float32: `reduce_dtype=torch.float32`",
    words=(*SHARDING, "16_compress_hook"),
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="final-weights-of-ranks",
)

_HOOK = re.compile(r"torch\.distributed\.algorithms\.ddp_comm_hooks\.default(?:_hooks)?\.(b?)f(?:p?)16_compress_hook")

_NO_HOOK = "use none: DDP sends float32 gradients then"


def check(analysis: Analysis) -> Iterator[Match]:
    """Each policy with which a model is sharded, and each hook beside a scaler."""
    seen: set[Location] = set()
    for shard in shard_calls(analysis):
        for policy in shard.policies:
            if policy.place in seen:
                continue
            if not policy.reduction <= HALVES and policy.reduction & {*HALVES, Dtype.UNKNOWN}:
                reason = "in which dtype ranks add up their gradients by this policy is decided when the program starts"
                analysis.gave_up(policy.place, reason, RULE.code)
            if not policy.reduction or not policy.reduction <= HALVES:
                continue
            seen.add(policy.place)
            dtype = " or ".join(sorted(policy.reduction))
            why = "" if policy.says_reduction else ", the dtype of `param_dtype`, because it has no `reduce_dtype`"
            yield Match(
                policy.place,
                f"by this policy ranks add up their gradients in {dtype}{why}",
                steps=((policy.place, "the policy"), (shard.place, "the model is sharded")),
            )
    yield from _hooks(analysis)


def _hooks(analysis: Analysis) -> Iterator[Match]:
    """Hooks that send gradients in half, and for float16 a live scaler that multiplies them first."""
    for call, function in analysis.calls:
        if last_name(call.func) != "register_comm_hook":
            continue
        frame = analysis.evaluator.root_frame(function)
        given = [*call.args[1:], *(word.value for word in call.keywords)]
        hooks = [hook for each in given if (hook := _HOOK.fullmatch(analysis.roles.known_name(each, frame)))]
        if not hooks or function.module.file.is_test:
            continue
        place = Location(function, call)
        if hooks[0][1]:
            yield _sent(place, Dtype.BFLOAT16)
            continue
        for scaler in analysis.scaler_allocations:
            if scaler.off or not analysis.call_graph.common(function, scaler.function):
                continue
            if analysis.path_conditions.agree(place, scaler.place):
                yield Match(
                    place,
                    f"`{statement_text(place)}` sends the gradients in float16, multiplied by the scale: "
                    "they overflow at a lower scale than the backward itself does",
                    certain=False,
                    steps=((place, "the hook"), (scaler.place, "the scaler")),
                    remedy=_NO_HOOK,
                )
                break
        else:
            yield _sent(place, Dtype.FLOAT16)


def _sent(place: Location, dtype: Dtype) -> Match:
    message = f"by this hook ranks add up their gradients in {dtype}"
    return Match(place, message, certain=False, remedy=_NO_HOOK)
