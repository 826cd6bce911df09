"""What else decides a precision by a call: sharding, float8, small optimizers, quantized weights, torch itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.model.precision_contract import Aspect
from verifygate.static.contract.call_site import CallSite, in_short
from verifygate.static.contract.conditions import ON_ONE_PATH, where_on
from verifygate.static.contract.fact import RULES, Fact
from verifygate.static.contract.optimizers import chosen_beside
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import ExternalResult

# -- sharding --------------------------------------------------------------------------------------------------


def policy(site: CallSite) -> Iterator[Fact]:
    if not site.name.startswith("torch.distributed."):
        return
    yield site.fact(Aspect.DRIVER, "FSDP mixed precision policy", judged_by=RULES)
    yield from site.dtype(Aspect.COMPUTE, site.given("param_dtype", 0), "param_dtype of the FSDP policy")
    keeps = site.given("keep_low_precision_grads")
    if keeps is not None and site.words(keeps) == ("True",):
        yield from site.dtype(Aspect.GRADIENTS, site.given("param_dtype", 0), "keep_low_precision_grads")
    reduce = site.given("reduce_dtype", 1)
    if reduce is not None:
        yield from site.dtype(Aspect.REDUCTION, reduce, "reduce_dtype of the FSDP policy")
    elif site.given("param_dtype", 0) is not None:
        yield from site.dtype(Aspect.REDUCTION, site.given("param_dtype", 0), "FSDP reduces in param_dtype by default")


def comm_hook(site: CallSite) -> Iterator[Fact]:
    hook = site.given("hook", 1)
    name = ast.unparse(hook) if hook is not None else ""
    for word, dtype in (("bf16_compress", "bfloat16"), ("fp16_compress", "float16"), ("powerSGD", "")):
        if word in name and dtype:
            yield site.fact(Aspect.REDUCTION, dtype, note=f"communication hook `{name}`")
        elif word in name:
            yield site.fact(Aspect.REDUCTION, gap=f"communication hook `{name}`")


# -- float8 and small optimizers -------------------------------------------------------------------------------


def transformer_engine(site: CallSite) -> Iterator[Fact]:
    enabled = site.given("enabled", 0)
    if enabled is not None and site.analysis.evaluator.truth(enabled, site.frame) is False:
        return
    condition = where_on(enabled)
    weights = site.name.endswith("model_init")
    yield site.fact(Aspect.DRIVER, "Transformer Engine", condition=condition)
    aspect = Aspect.WEIGHTS if weights else Aspect.COMPUTE
    if gap := _other_recipe(site):
        yield site.fact(aspect, gap=gap)
    else:
        yield site.fact(aspect, "float8", note="Transformer Engine", condition=condition)
    yield site.fact(Aspect.DRIVER, gap="Transformer Engine region: its numbers in float8 are not judged")


def _other_recipe(site: CallSite) -> str:
    """Why it is not known that a region computes in float8: its recipe may be another float's; else empty."""
    recipe = site.given("recipe") or site.given("fp8_recipe")
    if recipe is None:
        return ""
    values = site.analysis.evaluator.values(recipe, site.frame)
    names = {each.name.rpartition(".")[2] if isinstance(each, ExternalResult) else "" for each in values}
    of_float8 = all("Float8" in each or "FP8" in each or each == "DelayedScaling" for each in names)
    return "" if of_float8 else f"what the recipe `{in_short(recipe)}` computes in"


def torchao(site: CallSite) -> Iterator[Fact]:
    yield site.fact(Aspect.DRIVER, "torchao float8")
    yield site.fact(Aspect.COMPUTE, "float8", note="layers that torchao converts")
    yield site.fact(Aspect.DRIVER, gap="torchao float8: the numbers of converted layers are not judged")


def small_optimizer(site: CallSite) -> Iterator[Fact]:
    bits = "4" if site.name.endswith("4bit") else "8"
    is_one = len(site.analysis.evaluator.values(site.call.func, site.frame)) > 1
    condition = ON_ONE_PATH if is_one else ""
    yield site.fact(Aspect.OPTIMIZER_STATE, f"{bits} bits", note=site.name, condition=condition)
    yield from chosen_beside(site.call, site.function, site.analysis)


def quantized(site: CallSite) -> Iterator[Fact]:
    if _is_only_shown(site):
        yield site.fact(Aspect.WEIGHTS, gap="whether a model is loaded with this quantization")
        return
    for keyword, bits in (("load_in_4bit", "4"), ("load_in_8bit", "8")):
        if (expr := site.given(keyword)) is not None and site.words(expr) != ("False",):
            condition = "" if site.words(expr) == ("True",) else where_on(expr)
            value = f"{bits} bits, frozen (bitsandbytes)"
            yield site.fact(Aspect.WEIGHTS, value, note=f"{keyword}={in_short(expr)}", condition=condition)
    yield from site.dtype(Aspect.COMPUTE, site.given("bnb_4bit_compute_dtype"), "bnb_4bit_compute_dtype")


def _is_only_shown(site: CallSite) -> bool:
    """Whether what a call makes goes by a name that its function hands over to nothing by a keyword, nor gives away."""
    bound = [node for node in site.function.of_kind(ast.Assign) if node.value is site.call]
    names = {each.id for node in bound for each in node.targets if isinstance(each, ast.Name)}
    if not names or site.function is site.function.module.body:
        return False
    calls = [call for call in site.function.calls if call is not site.call]
    shown = {each for call in calls for each in call.args if isinstance(each, ast.Name) and each.id in names}
    loads = (node for node in site.function.of_kind(ast.Name) if node.id in names and isinstance(node.ctx, ast.Load))
    return all(each in shown for each in loads)


def apex(site: CallSite) -> Iterator[Fact]:
    level = site.given("opt_level")
    words = site.words(level) if level is not None else ("O1",)
    if words == ("O0",):
        return
    yield site.fact(Aspect.DRIVER, "apex.amp")
    yield site.fact(Aspect.COMPUTE, "float16", note=f"opt_level={' or '.join(words) or in_short(level)}")
    yield site.fact(Aspect.LOSS_SCALE, "apex's own")
    if words in (("O2",), ("O3",)):
        master = ", with a float32 master copy that apex keeps" if words == ("O2",) else ""
        yield site.fact(Aspect.WEIGHTS, f"float16{master}", note=f"opt_level={words[0]}")
    yield site.fact(Aspect.DRIVER, gap="apex.amp: AMP502 alone is about it")


def default_dtype(site: CallSite) -> Iterator[Fact]:
    """The default that modules are made in, from this call on until another one sets the default again."""
    sets = [each for each in site.function.calls if last_name(each.func) in _SETS_DEFAULT]
    sets = [each for each in sets if each is not site.call and not _is_other_branch(each, site)]
    after = min((each for each in sets if each.lineno > site.call.lineno), key=lambda each: each.lineno, default=None)
    if sets and after is None:
        return  # it puts an earlier default back
    if after is not None and _has_cast(site, after):
        return
    given = site.given("d", 0) or site.given("t", 0)
    if site.name.endswith("set_default_tensor_type"):
        dtype = _TENSOR_TYPES.get(last_name(given)) if given is not None else None
        if dtype:
            yield site.fact(Aspect.WEIGHTS, dtype, note=DEFAULT_DTYPE)
        return
    facts = list(site.dtype(Aspect.WEIGHTS, given, DEFAULT_DTYPE))
    if len(facts) == 1 and facts[0].value:
        yield facts[0]
    elif after is not None:
        gap = f"modules are made while torch's default dtype is `{in_short(given)}`"
        yield site.fact(Aspect.WEIGHTS, gap=gap, note=DEFAULT_DTYPE)


def _is_other_branch(call: ast.Call, site: CallSite) -> bool:
    """Whether a call runs only where the one of the site does not."""
    conditions = site.analysis.enclosing.conditions
    ours = {(ast.unparse(test), holds) for test, holds in conditions(site.call, site.function)}
    return any((ast.unparse(test), not holds) in ours for test, holds in conditions(call, site.function))


def _has_cast(site: CallSite, after: ast.Call) -> bool:
    """Whether something is cast between two calls that set the default: what it comes to then is what the cast says."""
    between = range(site.call.lineno, after.lineno)
    return any(
        isinstance(each.func, ast.Attribute) and each.func.attr in ("half", "bfloat16", "double", "float")
        for each in site.function.calls
        if each.lineno in between
    )


DEFAULT_DTYPE = "torch's default dtype"
_SETS_DEFAULT = frozenset({"set_default_dtype", "set_default_tensor_type"})
_TENSOR_TYPES = {
    "BFloat16Tensor": "bfloat16", "HalfTensor": "float16", "FloatTensor": "float32", "DoubleTensor": "float64",
}  # fmt: skip
