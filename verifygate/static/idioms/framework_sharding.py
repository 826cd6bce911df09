"""Models that a framework shards by FSDP, so that a rank holds a part of the gradients: by strategy, plugin or word."""

from __future__ import annotations

import ast

from verifygate.framework_names import ACCELERATE, FABRIC, LIGHTNING, TRANSFORMERS
from verifygate.static.analysis import Analysis
from verifygate.static.facts.framework_precisions import Handle, Instance
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import ExternalResult, Literal

_GIVEN_BY = {LIGHTNING: "strategy", FABRIC: "strategy", ACCELERATE: "fsdp_plugin", TRANSFORMERS: "fsdp"}
_SHARDERS = ("FSDPStrategy", "FullyShardedDataParallelPlugin")
_WORDS = ("fsdp", "full_shard", "shard_grad_op", "hybrid_shard")
"""How the words begin by which Lightning and transformers shard."""


def shards(instance: Instance, analysis: Analysis) -> bool:
    """Whether a call surely has a framework wrap the model in `FullyShardedDataParallel`, and shard it."""
    given = instance.given(_GIVEN_BY[instance.framework]) if instance.framework in _GIVEN_BY else None
    values = analysis.evaluator.values(given, instance.frame) if given is not None else ()
    return bool(values) and all(
        (isinstance(each, Literal) and str(each.value).startswith(_WORDS))
        or (isinstance(each, ExternalResult) and each.name.endswith(_SHARDERS) and not any(map(_spares, each.calls)))
        for each in values
    )


def _spares(made: tuple[ast.Call, object]) -> bool:
    """Whether a strategy is told not to shard, or by tensors that know their parts, or by what is not seen."""
    for word in made[0].keywords:
        if word.arg in (None, "fsdp_version") or (word.arg == "sharding_strategy" and "NO_SHARD" in ast.unparse(word)):
            return True
    return False


def sharded_by(model: ast.expr, function: Function, analysis: Analysis) -> Handle | None:
    """The framework that shards a model: what it handed back, or a module whose methods it runs."""
    frame = analysis.evaluator.root_frame(function)
    handle = analysis.frameworks.wrapped(model, frame)
    if handle is None and function.owner is not None and _is_of_the_object(model, function):
        handle = analysis.frameworks.running(function)
        handle = handle if handle is not None and handle.framework is LIGHTNING else None
    if handle is None or not handle.instances or not all(shards(each, analysis) for each in handle.instances):
        return None
    return handle


def _is_of_the_object(model: ast.expr, function: Function) -> bool:
    """Whether an expression is the module itself, or a part of it."""
    while isinstance(model, ast.Attribute):
        model = model.value
    return isinstance(model, ast.Name) and bool(function.parameters) and model.id == function.parameters[0].arg
