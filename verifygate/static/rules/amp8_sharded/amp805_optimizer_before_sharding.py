"""An optimizer is built before its model is sharded.

## What it does
Reports an optimizer that is built over the parameters of a model which `fully_shard` or FSDP's wrapper shards
afterwards, where nothing gives it the new parameters.

## Impact
Nothing is trained: the optimizer finds no gradient, and the loss stays what it was at the start.

## Why is this bad
Sharding puts other parameters into the model: DTensors with this rank's part, or one flat tensor. The optimizer keeps
those that it was given, which no forward uses any more. They get no gradient, so it steps nothing.

## What happens at run time
Silent. On torch 2.13 (two gloo ranks, CPU) every gradient that the optimizer looks at is None, and the loss stays what
it was at the start, though the optimizer makes its steps.

## Example
```python
import torch
from torch.distributed.fsdp import fully_shard


def train(model, loss_fn, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    fully_shard(model)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
```

## Use instead
```python
import torch
from torch.distributed.fsdp import fully_shard


def train(model, loss_fn, batches):
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
```

## Fix safety
No fix: what stands between the two may need the one or the other.

## What it cannot see
Optimizers and sharding in two functions, but for one that a call behind the optimizer gives the model to shard. A
wrapper with `use_orig_params=True`, or with an argument for it that the source does not tell, is left alone: it keeps
the parameters.

## References
- https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
- https://github.com/pytorch/pytorch/issues/149205
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.fsdp import Sharding
from verifygate.static.idioms.half_weights import optimizer_calls
from verifygate.static.idioms.sharding_policies import SHARDING, shard_calls, sharded_models
from verifygate.static.idioms.trained_parameters import models_in
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function

RULE = Rule(
    code="AMP805",
    name="optimizer-before-sharding",
    severity=Severity.HIGH,
    summary="an optimizer is built before its model is sharded, and steps parameters that are no longer the model's",
    remedy="build the optimizer after the last call that shards the model",
    words=SHARDING,
    proof="loss-progress-of-ranks",
)

_GIVES_ANEW = frozenset({"param_groups", "add_param_group"})


def check(analysis: Analysis) -> Iterator[Match]:
    """Each optimizer that stands before a call which shards its model, in one function."""
    sharded: dict[Function, list[tuple[ast.Call, list[str]]]] = {}
    for shard in shard_calls(analysis):
        if shard.is_in_place:
            models = sharded_models(shard, analysis)
            sharded.setdefault(shard.function, []).append((shard.call, [ast.unparse(each) for each in models]))
            for caller, given in _through_calls(shard.function, models, analysis):
                sharded.setdefault(caller, []).append(given)
    for wrap in Sharding(analysis).wraps:
        call = wrap.place.node
        if isinstance(call, ast.Call) and call.args and not _keeps_parameters(call):
            sharded.setdefault(wrap.place.function, []).append((call, [ast.unparse(call.args[0])]))
    for function, calls in sharded.items():
        yield from _built_before(function, calls, analysis)


def _through_calls(
    function: Function, models: list[ast.expr], analysis: Analysis
) -> Iterator[tuple[Function, tuple[ast.Call, list[str]]]]:
    """The calls of a function that shards its parameters, each with what it is given for them."""
    names = {each.id for each in models if isinstance(each, ast.Name)}
    for site, entered in analysis.call_graph.entries(function):
        texts = [ast.unparse(each.expr) for name, each in entered.arguments.items() if name in names]
        if texts and site.caller is not function:
            yield site.caller, (site.call, texts)


def _keeps_parameters(wrap: ast.Call) -> bool:
    """Whether a wrapper keeps the parameters that were there, or may: `use_orig_params=True`."""
    given = [word.value for word in wrap.keywords if word.arg in ("use_orig_params", None)]
    return any(not (isinstance(each, ast.Constant) and each.value is False) for each in given)


def _built_before(function: Function, calls: list[tuple[ast.Call, list[str]]], analysis: Analysis) -> Iterator[Match]:
    frame = analysis.evaluator.root_frame(function)
    built: list[tuple[ast.Call, list[str]]] = []
    for call in function.calls:
        values = analysis.evaluator.values(call, frame)
        if call.args and any(each is call for value in values for each, _ in optimizer_calls(value)):
            built.append((call, [ast.unparse(each) for each in models_in(call.args[0], frame, analysis.evaluator)]))
    if any(isinstance(node, ast.Attribute) and node.attr in _GIVES_ANEW for node in function.own_nodes):
        return
    for optimizer, models in built:
        place = Location(function, optimizer)
        later = [
            (call, model)
            for call, texts in calls
            for model in models
            if model in texts and call.lineno > optimizer.lineno
            if analysis.path_conditions.agree(place, Location(function, call))
        ]
        again = any(
            other.lineno > call.lineno and model in texts for other, texts in built for call, model in later[-1:]
        )
        if later and not again:
            shard = Location(function, later[-1][0])
            alone = not any(analysis.enclosing.conditions(each.node, function) for each in (place, shard))
            alone = alone and not analysis.evaluator.callees(later[-1][0], frame)  # one of the project may do more
            yield Match(
                place,
                f"`{statement_text(place)}` gets parameters that `{statement_text(shard)}` then replaces: "
                "it steps none of the model's",
                certain=alone,
                steps=((place, "the optimizer"), (shard, "the model is sharded")),
            )
