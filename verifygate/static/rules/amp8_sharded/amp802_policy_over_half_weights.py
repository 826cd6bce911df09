"""A sharding policy computes in half precision, and the weights below it are half already.

## What it does
Reports an FSDP wrapper, or `fully_shard`, that gets a mixed-precision policy and a model whose parameters a cast or a
`dtype` made half, where an optimizer is built over that model.

## Impact
Steps are rounded away, for there is no float32 master copy: most weights were bit for bit what they were at the
start.

## Why is this bad
The policy casts a copy of each shard for the forward and the backward; what the optimizer steps are the shards, in the
dtype in which they were before. In float32 they are the master weights, and that is what the policy is for. In bfloat16
there is nothing to cast, and no master: steps below half the distance to the next number are lost (AMP701).

## What happens at run time
Silent. On torch 2.13 (two gloo ranks, CPU) most weights are bit for bit what they were at the start; with float32
weights below the same policy none is.

## Example
```python
import torch
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def train(model, loss_fn, batches):
    model.to(torch.bfloat16)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    fully_shard(model, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
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
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    fully_shard(model, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_fn(model(inputs).float(), targets)
        loss.backward()
        optimizer.step()
```

## Fix safety
No fix: float32 weights take twice the memory, of which each rank has its share.

## What it cannot see
Models and optimizers that are built in other functions than those that shard them, unless a call returns them or hands
them over. Where only some parameters are trained, those may be float32.

## References
- https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
"""

from collections.abc import Iterator

from verifygate.model import Severity, Witness
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.idioms.half_weights import half_optimizers
from verifygate.static.idioms.master_weights import has_master_weights, is_frozen_by
from verifygate.static.idioms.sharding_policies import SHARDING, shard_calls, shards_model
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location

RULE = Rule(
    code="AMP802",
    name="policy-over-half-weights",
    severity=Severity.HIGH,
    summary="a sharding policy computes in half precision, over weights that are half already",
    remedy="shard the model with its weights in float32: the policy casts what it computes with",
    words=SHARDING,
    witnesses=(Witness.STATIC, Witness.RUN),
    proof="weights-moved-of-ranks",
)


def check(analysis: Analysis) -> Iterator[Match]:
    """Each call that shards, by a policy, a model whose optimizer has half parameters."""
    shards = [each for each in shard_calls(analysis) if each.policies]
    seen: set[Location] = set()
    for dtype in (Dtype.BFLOAT16, Dtype.FLOAT16) if shards else ():
        for half in half_optimizers(analysis, dtype):
            if has_master_weights(half, analysis) or is_frozen_by(half, analysis):
                continue
            frame = analysis.evaluator.root_frame(half.function)
            for shard in shards:
                if shard.place in seen or not shards_model(shard, half.model, frame, analysis):
                    continue
                if not any(
                    policy.parameters & {Dtype.BFLOAT16, Dtype.FLOAT16}
                    and analysis.path_conditions.all_agree(half.way.cast, policy.place, shard.place, half.place)
                    for policy in shard.policies
                ):
                    continue
                seen.add(shard.place)
                alone = not analysis.enclosing.conditions(shard.call, shard.function)
                yield Match(
                    shard.place,
                    f"`{statement_text(shard.place)}` shards weights that are {dtype} already: "
                    "the policy has no float32 master weights to cast",
                    certain=half.way.sure and alone,
                    steps=(
                        (half.way.cast, "the weights are made half"),
                        (shard.place, "the model is sharded"),
                        (half.place, "the optimizer"),
                    ),
                )
