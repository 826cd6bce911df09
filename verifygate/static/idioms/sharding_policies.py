"""Mixed precision by a policy of FSDP: the calls that shard a model, what they shard, the dtypes of their policy."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.static.analysis import Analysis, memoised
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import is_none
from verifygate.static.values.domain import Bound, DictLiteral, ExternalResult, Frame, Object, Value, dict_items

_ARGUMENTS = frozenset({"mixed_precision", "mp_policy"})
_POLICIES = frozenset({"MixedPrecision", "MixedPrecisionPolicy"})
_FROM = ("torch.distributed.", "fairscale.")
_IN_PLACE = "fully_shard"
SHARDING = ("FullyShardedDataParallel", _IN_PLACE)
"""Words of every file that shards a model."""


@record(eq=False)
class Policy:
    """A call that builds a mixed-precision policy."""

    place: Location
    parameters: frozenset[Dtype]
    """The dtypes that `param_dtype` may be; empty where it is left out."""
    reduction: frozenset[Dtype]
    """The dtypes in which gradients may be reduced: those of `param_dtype` where `reduce_dtype` is left out."""
    says_reduction: bool
    """Whether it has a `reduce_dtype`."""


@record(eq=False)
class ShardCall:
    """A call that shards a model by a policy, or by none."""

    call: ast.Call
    function: Function
    policies: tuple[Policy, ...]

    @property
    def place(self) -> Location:
        return Location(self.function, self.call)

    @property
    def is_in_place(self) -> bool:
        """Whether the model itself is sharded, so that no wrapper is returned."""
        return last_name(self.call.func) == _IN_PLACE


@memoised
def shard_calls(analysis: Analysis) -> Iterator[ShardCall]:
    """The calls that give a policy by one of its keywords, and those of `fully_shard`."""
    for call, function in analysis.calls:
        frame = analysis.evaluator.root_frame(function)
        given = list(_policies_given(call, frame, analysis))
        if not given and last_name(call.func) != _IN_PLACE:
            continue
        values = [value for each in given for value in analysis.evaluator.values(each.expr, each.frame)]
        policies = tuple(policy for value in values for policy in _policies(value, analysis))
        if policies or analysis.roles.known_name(call.func, frame).startswith(_FROM):
            yield ShardCall(call, function, policies)


def _policies_given(call: ast.Call, frame: Frame, analysis: Analysis) -> Iterator[Bound]:
    for word in call.keywords:
        if word.arg in _ARGUMENTS:
            yield Bound(word.value, frame)
        elif word.arg is None and last_name(call.func) in SHARDING:
            for value in analysis.evaluator.values(word.value, frame):
                if isinstance(value, DictLiteral):
                    items = dict_items(value.node)
                    yield from (Bound(items[name], value.frame) for name in sorted(_ARGUMENTS & items.keys()))


def _policies(value: Value, analysis: Analysis) -> Iterator[Policy]:
    if not isinstance(value, ExternalResult) or value.name.rpartition(".")[2] not in _POLICIES:
        return
    for made, home in value.calls:
        words = {word.arg: word.value for word in made.keywords}
        given = dict(zip(("param_dtype", "reduce_dtype"), made.args, strict=False)) | words
        dtypes = {
            name: analysis.dtype_values.of(expr, home)
            for name in ("param_dtype", "reduce_dtype")
            if (expr := given.get(name)) is not None and not is_none(expr)
        }
        parameters = dtypes.get("param_dtype", frozenset())
        says = "reduce_dtype" in dtypes or None in words
        reduction = dtypes.get("reduce_dtype", frozenset() if None in words else parameters)
        yield Policy(Location(home.function, made), parameters, reduction, says)


def sharded_models(shard: ShardCall, analysis: Analysis) -> list[ast.expr]:
    """What a call shards: its first argument, or what a loop takes that from, if it is a tuple that is written out."""
    given = [*shard.call.args[:1], *(word.value for word in shard.call.keywords if word.arg == "module")]
    if not given or not isinstance(given[0], ast.Name):
        return given
    for loop in analysis.enclosing.loops(shard.call, shard.function):
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and loop.target.id == given[0].id:
            return list(loop.iter.elts) if isinstance(loop.iter, ast.Tuple | ast.List) else []
    return given


def shards_model(shard: ShardCall, model: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether a call shards what an expression stands for: the wrapper it returns, or the very model it was given."""
    values = analysis.evaluator.values(model, frame)
    made = {call for value in values for call in _made_by(value)}
    if shard.call in made:
        return True
    if not shard.is_in_place:
        return False
    home = analysis.evaluator.root_frame(shard.function)
    for each in sharded_models(shard, analysis):
        if shard.function is frame.function and ast.unparse(each) == ast.unparse(model):
            return True
        if made & {call for value in analysis.evaluator.values(each, home) for call in _made_by(value)}:
            return True
    return _returns_it(shard, model, frame, analysis)


def _returns_it(shard: ShardCall, model: ast.expr, frame: Frame, analysis: Analysis) -> bool:
    """Whether an expression was bound to what the function that shards a model returns, which is that model."""
    sharded = {ast.unparse(each) for each in sharded_models(shard, analysis)}
    if not any(ast.unparse(each) in sharded for each in shard.function.returns):
        return False
    bindings = analysis.dtype_values.bindings(model, frame)
    calls = [(each.expr, home) for each, home in bindings if each.kind == "value" and isinstance(each.expr, ast.Call)]
    return any(
        callee.function is shard.function for call, home in calls for callee in analysis.evaluator.callees(call, home)
    )


def is_sharded_by_a_policy(model: ast.expr, frame: Frame, cast: Location, analysis: Analysis) -> bool:
    """Whether some call shards what an expression stands for, by a policy, where a cast runs."""
    if not any(module.mentions(*map(str.encode, SHARDING)) for module in analysis.modules):
        return False
    agree = analysis.path_conditions.all_agree
    return any(
        any(agree(cast, policy.place, shard.place) for policy in shard.policies)
        and shards_model(shard, model, frame, analysis)
        for shard in shard_calls(analysis)
    )


def _made_by(value: Value) -> Iterator[ast.AST]:
    """The calls that made an object."""
    if isinstance(value, ExternalResult):
        yield from (call for call, _ in value.calls)
    elif isinstance(value, Object) and value.call is not None:
        yield value.call.expr


def policies_of_float16(analysis: Analysis) -> dict[Location, list[ShardCall]]:
    """The policies that have a model compute in float16 by `param_dtype`, each with the calls that take it."""
    found: dict[Location, list[ShardCall]] = {}
    for shard in shard_calls(analysis):
        for policy in shard.policies:
            if Dtype.FLOAT16 in policy.parameters:
                found.setdefault(policy.place, []).append(shard)
    return found


def is_run_of(shard: ShardCall, call: ast.Call, frame: Frame, analysis: Analysis) -> bool:
    """Whether a call runs the model that a call shards: what that call gives, or the model that it was given."""
    return call is not shard.call and shards_model(shard, call.func, frame, analysis)
