"""A gradient norm is worked out from one rank's part of the gradients.

## What it does
Reports a norm of gradients of a sharded model, or another measure of them, that is taken from the part of one rank and
is not put together with the others': of `grad.to_local()`, of `grad.norm().item()` where `fully_shard` made DTensors of
the parameters, and of `grad.norm()` where FSDP wrapped the model.

## Impact
Limits and logs go by a number that is too small: two ranks told 2.362 and 2.359 where the norm was 3.338.

## Why is this bad
Each rank holds a part of each gradient. The norm of the part is smaller than the norm, by the square root of the number
of ranks or so, and another one on each rank. A limit, a log or a skip that goes by it is wrong, and ranks that decide
by it part ways.

## What happens at run time
Silent (torch 2.13, two gloo ranks): in the example the ranks tell 2.362 and 2.359 first, where the norm is 3.338.
`DTensor.item()` gives the part, too, of a norm that is still to be summed up; `full_tensor()` sums it up.

## Example
```python
import torch
from torch.distributed.fsdp import fully_shard


def train(model, loss_fn, batches):
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        norm = sum(weight.grad.to_local().norm() ** 2 for weight in model.parameters()) ** 0.5
        print(f"norm {norm:.4f}")
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
        norm = torch.nn.utils.get_total_norm([weight.grad for weight in model.parameters()]).full_tensor()
        print(f"norm {norm:.4f}")
        optimizer.step()
```

## Fix safety
No fix: where the norm is put together, all ranks have to be there.

## What it cannot see
Norms that another function puts together, unless it calls the one at hand. Wrappers with `NO_SHARD`. Clips of torch
over a wrapped model are reported by AMP307.

## References
- https://docs.pytorch.org/docs/stable/distributed.tensor.html
"""

import ast
from collections.abc import Iterator

from verifygate.model import Severity
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.fsdp import Sharding
from verifygate.static.idioms.sharding_policies import SHARDING, ShardCall, shard_calls, shards_model
from verifygate.static.rule import Match, Rule, statement_text
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.torch_names import GRAD_READINGS

RULE = Rule(
    code="AMP804",
    name="norm-of-a-shard",
    severity=Severity.HIGH,
    summary="a gradient norm is worked out from one rank's part of the gradients",
    remedy="let all ranks take part: `get_total_norm(...).full_tensor()`, or a wrapped model's own `clip_grad_norm_`",
    words=(*SHARDING, "to_local"),
    proof="told-by-ranks",
)

_MEASURES = GRAD_READINGS - {"abs"} | {"get_total_norm", "_foreach_norm"}
_JOINS = frozenset(
    """all_reduce all_gather all_gather_into_tensor all_gather_object reduce full_tensor redistribute gather reduce_sum
    reduce_mean gather_for_metrics""".split()  # noqa: SIM905
)
"""By which ranks put together what each has."""
_LOCAL = frozenset({"to_local", "_local_tensor"})
_HOST = frozenset({"item", "tolist"})


def check(analysis: Analysis) -> Iterator[Match]:
    """Each function with such a norm; the first place of it."""
    shards = list(shard_calls(analysis))
    sharding = Sharding(analysis)
    for function in analysis.functions:
        if not function.module.mentions(b"grad") or _joins(function, analysis):
            continue
        for call in sorted(function.calls, key=lambda each: (each.lineno, each.col_offset)):
            found = _of_a_part(call, function, shards, sharding, analysis)
            if found is not None:
                place = Location(function, call)
                sure, steps = found
                message = f"`{statement_text(place)}` measures one rank's part of the gradients, and no other's"
                yield Match(place, message, certain=sure, steps=((*steps, (place, "the norm"))))
                break


def _joins(function: Function, analysis: Analysis) -> bool:
    """Whether the function, what it calls, or one that calls it, puts together what ranks have."""
    parts = {function, *(callee for call in function.calls for callee in analysis.call_graph.callees(call, function))}
    parts |= {site.caller for site in analysis.call_graph.sites(function)}
    return any(last_name(call.func) in _JOINS for part in parts for call in part.calls)


def _of_a_part(
    call: ast.Call, function: Function, shards: list[ShardCall], sharding: Sharding, analysis: Analysis
) -> tuple[bool, tuple[tuple[Location, str], ...]] | None:
    """Whether a call measures a part of a gradient: whether that is sure, and how the model came to be sharded."""
    if last_name(call.func) not in _MEASURES:
        return None
    measured = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    nodes = [node for part in (*measured, *call.args[:1]) for node in _with_definitions(part, function)]
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    if "grad" not in attributes:
        return None
    model = _model_of(nodes, call, function, analysis)
    frame = analysis.evaluator.root_frame(function)
    in_place = next(
        (
            each
            for each in shards
            if model is not None and each.is_in_place and shards_model(each, model, frame, analysis)
        ),
        None,
    )
    if attributes & _LOCAL:  # not sure by itself: of what is replicated the part is the whole
        return (True, ((in_place.place, "the model is sharded"),)) if in_place is not None else (False, ())
    if model is None:
        return None
    if in_place is not None:
        outer = analysis.enclosing.parent(call, function)
        read = isinstance(outer, ast.Attribute) and outer.attr in _HOST
        read |= isinstance(outer, ast.Call) and last_name(outer.func) == "float"
        return (True, ((in_place.place, "the model is sharded"),)) if read else None
    wraps, only = sharding.wraps_of(model, function)
    place = Location(function, call)
    wraps = [each for each in wraps if sharding.together(each.place, place, unless_told=True)]
    if not wraps or sharding.is_spared(place, model):
        return None
    return only and all(each.sure for each in wraps), ((wraps[0].place, "the model is sharded"),)


def _with_definitions(expr: ast.expr, function: Function) -> Iterator[ast.AST]:
    """The nodes of an expression, and of what its names are bound to in the function."""
    for node in walk(expr):
        yield node
        if isinstance(node, ast.Name):
            for binding in function.scope.names.get(node.id, ()):
                if binding.kind == "value" and binding.expr is not None and binding.expr is not expr:
                    yield from walk(binding.expr)


def _model_of(nodes: list[ast.AST], call: ast.Call, function: Function, analysis: Analysis) -> ast.expr | None:
    """The model over whose parameters the loop runs, or the comprehension, that gives the parameter at hand."""
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    around = [each.node for each in analysis.enclosing.around(call, function)]
    iterations = [(each.target, each.iter) for each in around if isinstance(each, ast.For)]
    iterations += [
        (part.target, part.iter)
        for each in (*around, *nodes)
        if isinstance(each, ast.GeneratorExp | ast.ListComp)
        for part in each.generators
    ]
    for target, iterated in iterations:
        if names & {node.id for node in walk(target) if isinstance(node, ast.Name)}:
            for node in walk(iterated):
                match node:
                    case ast.Call(func=ast.Attribute(value=model, attr="parameters" | "named_parameters")):
                        return model
    return None
