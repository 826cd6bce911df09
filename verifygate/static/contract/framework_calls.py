"""What frameworks are told for the precision: Lightning, Accelerate, Hugging Face, DeepSpeed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import replace
from verifygate.configured_precision.setting import ACCELERATE, DEEPSPEED, HUGGING_FACE, LIGHTNING, Setting, dtype_of
from verifygate.configured_precision.shapes import deepspeed_settings
from verifygate.model.precision_contract import Aspect
from verifygate.static.analysis import Analysis
from verifygate.static.contract.call_site import CallSite, argparse_default, in_short
from verifygate.static.contract.conditions import BY_DEFAULT, ON_ONE_PATH
from verifygate.static.contract.fact import CONFIGURATION_RULES, RULES, Fact
from verifygate.static.contract.words import NO_SCALE, SCALERS, meaning
from verifygate.static.idioms.deepspeed_tables import item_of, scales_in_force, value_at
from verifygate.static.idioms.framework_scalers import scaler_is_off
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import DictLiteral

_LIGHTNINGS = {"Fabric": "Lightning Fabric", "LightningLite": "Lightning Lite"}


def lightning(site: CallSite) -> Iterator[Fact]:
    what = _LIGHTNINGS.get(site.name.rpartition(".")[2], "Lightning Trainer")
    yield site.fact(Aspect.DRIVER, what, judged_by=RULES)
    strategy = site.given("strategy")
    is_deepspeed = strategy is not None and "deepspeed" in ast.unparse(strategy).lower()
    for each in _switch(site, LIGHTNING, "precision", "32-true"):
        if is_deepspeed and each.aspect is Aspect.LOSS_SCALE and each.value != NO_SCALE:
            yield replace(each, value=SCALERS[DEEPSPEED])
        else:
            yield each


def composer(site: CallSite) -> Iterator[Fact]:
    yield site.fact(Aspect.DRIVER, "Composer Trainer")
    yield site.fact(Aspect.DRIVER, gap="Composer Trainer: its precision is not judged")
    expr = site.given("precision")
    words = site.words(expr) if expr is not None else ()
    if not words:
        said = (
            f"`precision={in_short(expr)}`" if expr is not None else "no `precision` is written out: amp_fp16 on a GPU"
        )
        yield site.fact(Aspect.COMPUTE, gap=f"{said} of Composer's Trainer")
    for word in words:
        if dtype := dtype_of(word):
            yield site.fact(Aspect.COMPUTE, dtype, note=f"precision={word}", condition=ON_ONE_PATH if words[1:] else "")


def lightning_cli(site: CallSite) -> Iterator[Fact]:
    yield site.fact(Aspect.DRIVER, "Lightning Trainer", judged_by=RULES, note="made by LightningCLI")
    why = "LightningCLI takes its configuration from the command line"
    yield site.fact(Aspect.COMPUTE, gap=why, framework=LIGHTNING)


def accelerator(site: CallSite) -> Iterator[Fact]:
    yield site.fact(Aspect.DRIVER, "Accelerate", judged_by=RULES)
    handlers = site.given("kwargs_handlers")
    is_off = handlers is not None and scaler_is_off(handlers, site.frame, site.analysis)
    for each in _switch(site, ACCELERATE, "mixed_precision", ""):
        if not is_off or each.aspect is not Aspect.LOSS_SCALE:
            yield each


def _switch(site: CallSite, framework: str, keyword: str, default: str) -> Iterator[Fact]:
    """What a framework's `precision=` says; `default` where it says nothing, empty where a launcher decides then."""
    expr = site.given(keyword)
    if expr is None or (isinstance(expr, ast.Constant) and expr.value is None):
        if site.is_spread:
            yield site.fact(Aspect.COMPUTE, gap=f"{keyword} may be among `**`", framework=framework)
        elif default:
            yield from _said(site, framework, default, f"{framework}'s default")
        else:
            why = f"no `{keyword}`: it comes from `accelerate launch` and its configuration"
            yield site.fact(Aspect.COMPUTE, gap=why, framework=framework)
        return
    words = site.words(expr)
    if not words:
        yield site.fact(Aspect.COMPUTE, gap=f"`{keyword}={in_short(expr)}`", framework=framework)
        usual = argparse_default(expr, site.function.module)
        if usual and usual != "None":
            yield from _said(site, framework, usual, f"default of `--{last_name(expr)}`", BY_DEFAULT)
    for word in words:
        yield from _said(site, framework, word, f"{keyword}={word}", ON_ONE_PATH if len(words) > 1 else "")


def _said(site: CallSite, framework: str, word: str, note: str, condition: str = "") -> Iterator[Fact]:
    for aspect, value in meaning(framework, word):
        yield site.fact(aspect, value, note=note, condition=condition)
    if not any(meaning(framework, word)):
        yield site.fact(Aspect.COMPUTE, gap=note, framework=framework)
    elif "float8" in (value for _, value in meaning(framework, word)):
        yield site.fact(Aspect.DRIVER, gap=f"{note}: what is computed in float8 is not judged")


def hugging_face_trainer(site: CallSite) -> Iterator[Fact]:
    yield site.fact(Aspect.DRIVER, HUGGING_FACE, judged_by=RULES, note=site.name)


def training_arguments(site: CallSite) -> Iterator[Fact]:
    told = False
    for switch in ("fp16", "bf16"):
        expr = site.given(switch)
        if expr is None:
            continue
        words = site.words(expr)
        told = True
        if not words:
            yield site.fact(Aspect.COMPUTE, gap=f"`{switch}={in_short(expr)}`", framework=HUGGING_FACE)
            if argparse_default(expr, site.function.module) == "True":
                yield from _said(site, HUGGING_FACE, switch, f"default of `--{last_name(expr)}`", BY_DEFAULT)
        elif "True" in words:
            condition = ON_ONE_PATH if len(words) > 1 else ""
            yield from _said(site, HUGGING_FACE, switch, f"{switch}=True", condition)
    for switch in ("fp16_full_eval", "bf16_full_eval"):
        if (expr := site.given(switch)) is not None and "True" in site.words(expr):
            value = "float16" if switch.startswith("fp") else "bfloat16"
            yield site.fact(Aspect.EVALUATION, value, note=f"{switch}=True")
    if not told:
        last = site.name.rpartition(".")[2]
        spread = "may be among `**`" if site.is_spread else f"the default of `{last}` holds"
        yield site.fact(Aspect.COMPUTE, gap=f"neither fp16 nor bf16 is written out: {spread}", framework=HUGGING_FACE)
    if (expr := site.given("deepspeed")) is not None:
        yield from _deepspeed_config(site, expr)


def argument_parser(site: CallSite) -> Iterator[Fact]:
    text = " ".join(ast.unparse(each) for each in site.call.args)
    if "TrainingArguments" in text or "Config" in text:
        why = "fp16 and bf16 come from the command line (HfArgumentParser)"
        yield site.fact(Aspect.COMPUTE, gap=why, framework=HUGGING_FACE)


def deepspeed(site: CallSite) -> Iterator[Fact]:
    yield site.fact(Aspect.DRIVER, "DeepSpeed engine", judged_by=CONFIGURATION_RULES)
    yield site.fact(Aspect.DRIVER, gap="DeepSpeed engine: its configuration is judged, the order of its calls is not")
    config = site.given("config") or site.given("config_params")
    if config is None:
        yield site.fact(Aspect.COMPUTE, gap="DeepSpeed's configuration comes with `args`", framework=DEEPSPEED)
    else:
        yield from _deepspeed_config(site, config)


def _deepspeed_config(site: CallSite, config: ast.expr) -> Iterator[Fact]:
    """What a dict in the code says; a file is read with the configuration."""
    tables = [each for each in site.analysis.evaluator.values(config, site.frame) if isinstance(each, DictLiteral)]
    for value in tables:
        path = value.frame.function.module.path
        for setting in scales_in_force(_known(value, path, site.analysis)):
            if setting.is_interpolated:
                gap = f"`{setting.key}: {setting.value.removeprefix('${').removesuffix('}')}`"
                aspect = _ASPECTS.get(setting.aspect, Aspect.COMPUTE)
                yield Fact(aspect=aspect, path=path, line=setting.line, gap=gap, framework=DEEPSPEED)
            else:
                yield from configured(setting)
    if not tables:
        text = in_short(config)
        if text not in ("None", "''"):
            yield site.fact(Aspect.COMPUTE, gap=f"DeepSpeed's configuration is `{text}`", framework=DEEPSPEED)


def _known(value: DictLiteral, path: str, analysis: Analysis) -> Iterator[Setting]:
    """The settings of a dict, with the constants that its values stand for where it is handed over."""
    for setting in deepspeed_settings(item_of(value.node), path):
        known = value_at(setting.key, value, analysis) if setting.is_interpolated else ""
        yield replace(setting, value=known) if known else setting


def configured(setting: Setting, note: str = "", said_by: str = "code") -> Iterator[Fact]:
    """The facts of one setting of a framework, wherever it is written."""
    note = note or f"{setting.key}: {setting.value}"

    def fact(aspect: Aspect, value: str) -> Fact:
        return Fact(aspect=aspect, path=setting.path, line=setting.line, value=value, note=note, said_by=said_by)

    if setting.aspect == "precision":
        switch = setting.switch
        if not switch:
            yield from (fact(*each) for each in meaning(setting.framework, setting.value))
        elif not setting.is_off and setting.dtype:
            yield from (fact(*each) for each in meaning(setting.framework, setting.dtype))
    elif setting.aspect == "loss scale":
        yield fact(Aspect.LOSS_SCALE, f"{setting.key}: {setting.value}")
    elif setting.aspect in _ASPECTS and not setting.is_off:
        value = "float8" if setting.aspect == "fp8" else setting.dtype or setting.value
        yield fact(_ASPECTS[setting.aspect], value)


_ASPECTS = {
    "weights": Aspect.WEIGHTS,
    "compute": Aspect.COMPUTE,
    "reduction": Aspect.REDUCTION,
    "fp8": Aspect.COMPUTE,
    "accumulation": Aspect.ACCUMULATION,
    "evaluation": Aspect.EVALUATION,
}
