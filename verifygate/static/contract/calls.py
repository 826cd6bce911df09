"""Calls that decide a precision, by the qualified name of the callee: of frameworks, sharding policies, float8."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from verifygate.base.records import record, replace
from verifygate.configured_precision.setting import ACCELERATE, DEEPSPEED, HUGGING_FACE, LIGHTNING, Setting
from verifygate.configured_precision.shapes import deepspeed_settings
from verifygate.model.precision_contract import Aspect
from verifygate.static.analysis import Analysis
from verifygate.static.contract.conditions import BY_DEFAULT, ON_ONE_PATH, condition_at, where_on
from verifygate.static.contract.fact import CONFIGURATION_RULES, RULES, Fact
from verifygate.static.contract.optimizers import chosen_beside
from verifygate.static.contract.training import TrainingReach
from verifygate.static.contract.words import meaning
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.idioms.deepspeed_tables import item_of, scales_in_force, value_at
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function, Module
from verifygate.static.syntax.names import last_name, simple_name
from verifygate.static.values.domain import ClassValue, DictLiteral, ExternalName, Frame, Literal

WORDS = (
    *("deepspeed.initialize(", "fp8_autocast(", "te.autocast(", "fp8_model_init(", "convert_to_float8_training("),
    *("MixedPrecisionPolicy(", "MixedPrecision(", "register_comm_hook(", "LightningCLI(", "HfArgumentParser("),
    *("8bit(", "4bit(", "bitsandbytes"),
)
"""What a file names beside what the rules look for."""
TF32 = "TF32 in float32 products"
_SUFFIXES = ("Trainer", "TrainingArguments", "Config", "8bit", "4bit")
"""How the names of classes end that decide a precision, and of those that derive from them."""


@record
class CallSite:
    """A call of an outside name, ready to be asked for its arguments."""

    analysis: Analysis
    call: ast.Call
    function: Function
    name: str
    """Qualified name of the callee; of a subclass in the project, that of the class outside."""
    frame: Frame

    def given(self, name: str, position: int | None = None) -> ast.expr | None:
        """An argument by its name, or by its position."""
        named = next((word.value for word in self.call.keywords if word.arg == name), None)
        if named is None and position is not None and position < len(self.call.args):
            return self.call.args[position]
        return named

    @property
    def is_spread(self) -> bool:
        """Whether a part of the arguments is a dict that is not written out in the call."""
        return any(word.arg is None for word in self.call.keywords)

    def words(self, expr: ast.expr) -> tuple[str, ...]:
        """The texts that an argument may be; none where one of them is not known."""
        values = self.analysis.evaluator.values(expr, self.frame)
        known = [str(each.value) for each in values if isinstance(each, Literal)]
        return tuple(dict.fromkeys(known)) if len(known) == len(values) else ()

    def fact(self, aspect: Aspect, value: str = "", **more: str) -> Fact:
        if value and aspect is not Aspect.DRIVER:
            around = condition_at(Location(self.function, self.call), self.analysis)
            more["condition"] = more.get("condition") or around
        return Fact(aspect=aspect, path=self.function.module.path, line=self.call.lineno, value=value, **more)

    def dtype(self, aspect: Aspect, expr: ast.expr | None, note: str) -> Iterator[Fact]:
        """The dtypes that an argument may be, or that they are not followed."""
        if expr is None or (isinstance(expr, ast.Constant) and expr.value is None):
            return
        dtypes = self.analysis.dtype_values.of(expr, self.frame)
        condition = ON_ONE_PATH if len(dtypes) > 1 else ""
        for dtype in sorted(dtypes - {Dtype.UNKNOWN}):
            yield self.fact(aspect, str(dtype), note=note, condition=condition)
        if Dtype.UNKNOWN in dtypes:
            yield self.fact(aspect, gap=f"{note}: `{_short(expr)}`")


Reader = Callable[[CallSite], Iterator[Fact]]


def call_facts(analysis: Analysis, reach: TrainingReach) -> Iterator[Fact]:
    """What the calls of the picked modules decide; those in tests are no program's."""
    subclasses = {
        made.node.name for module in analysis.modules for made in module.classes.values()
        if any(_may_decide(last_name(base)) for base in made.node.bases)
    }  # fmt: skip
    names = tuple(name.encode() for name in (*_SUFFIXES, *sorted(_LAST_NAMES), *sorted(subclasses)))
    for module in analysis.modules:
        if module.file.is_test or not module.mentions(*names):
            continue
        for function in module.all_functions:
            for call in function.calls:
                last = simple_name(call.func)
                if last in subclasses or _may_decide(last):
                    yield from _of_call(analysis, call, function, reach)


def argparse_default(expr: ast.expr, module: Module) -> str | None:
    """The default of the option that `args.precision` is, where the same file adds it to a parser of `argparse`."""
    if not isinstance(expr, ast.Attribute):
        return None
    flags = {f"--{expr.attr}", f"--{expr.attr.replace('_', '-')}"}
    for function in module.all_functions if module.mentions(b"add_argument(") else ():
        for call in function.calls:
            if simple_name(call.func) != "add_argument":
                continue
            names = {each.value for each in call.args if isinstance(each, ast.Constant)}
            given = {word.arg: word.value for word in call.keywords}
            default = given.get("default")
            if not flags.isdisjoint(names) and isinstance(default, ast.Constant):
                return str(default.value)
    return None


def _may_decide(last: str) -> bool:
    return last in _LAST_NAMES or last.endswith(_SUFFIXES)


def _of_call(analysis: Analysis, call: ast.Call, function: Function, reach: TrainingReach) -> Iterator[Fact]:
    frame = analysis.evaluator.root_frame(function)
    names: set[str] = set()
    for value in analysis.evaluator.values(call.func, frame):
        if isinstance(value, ExternalName):
            names.add(value.name)
        elif isinstance(value, ClassValue):
            names |= analysis.evaluator.outside_bases(value.made)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "register_comm_hook":
        yield from _comm_hook(CallSite(analysis, call, function, "", frame))
    for name in sorted(names):
        reader = _reader(name)
        if reader is None:
            continue
        found = list(reader(CallSite(analysis, call, function, name, frame)))
        if reader not in _OF_TRAINING:
            is_trained = reach.is_of_engine(call, function) if reader is _deepspeed else True
            if not is_trained or not reach.is_of_framework(call, function):
                found = list(_of_evaluation(found))
        yield from found
        return


def _of_evaluation(facts: list[Fact]) -> Iterator[Fact]:
    """What facts come to where nothing is trained: who drives and scales there is nobody's driver."""
    for each in facts:
        if each.value and each.aspect in (Aspect.COMPUTE, Aspect.WEIGHTS, Aspect.EVALUATION):
            yield replace(each, aspect=Aspect.EVALUATION)


def _reader(name: str) -> Reader | None:
    package, last = name.partition(".")[0], name.rpartition(".")[2]
    if (reader := _READERS.get((package, last))) is not None:
        return reader
    if package in ("transformers", "trl") and last.endswith("Trainer"):
        return _hugging_face_trainer
    if package == "trl" and last.endswith("Config"):
        return _training_arguments
    if (package == "bitsandbytes" and last.endswith("8bit")) or (
        package == "torchao" and last.endswith(("8bit", "4bit"))
    ):
        return _small_optimizer
    return None


# -- frameworks ------------------------------------------------------------------------------------------------


def _lightning(site: CallSite) -> Iterator[Fact]:
    what = "Lightning Fabric" if site.name.endswith("Fabric") else "Lightning Trainer"
    yield site.fact(Aspect.DRIVER, what, judged_by=RULES)
    yield from _switch(site, LIGHTNING, "precision", "32-true")


def _lightning_cli(site: CallSite) -> Iterator[Fact]:
    yield site.fact(Aspect.DRIVER, "Lightning Trainer", judged_by=RULES, note="made by LightningCLI")
    why = "LightningCLI takes its configuration from the command line"
    yield site.fact(Aspect.COMPUTE, gap=why, framework=LIGHTNING)


def _accelerator(site: CallSite) -> Iterator[Fact]:
    yield site.fact(Aspect.DRIVER, "Accelerate", judged_by=RULES)
    yield from _switch(site, ACCELERATE, "mixed_precision", "")


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
        yield site.fact(Aspect.COMPUTE, gap=f"`{keyword}={_short(expr)}`", framework=framework)
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


def _hugging_face_trainer(site: CallSite) -> Iterator[Fact]:
    yield site.fact(Aspect.DRIVER, HUGGING_FACE, judged_by=RULES, note=site.name)


def _training_arguments(site: CallSite) -> Iterator[Fact]:
    told = False
    for switch in ("fp16", "bf16"):
        expr = site.given(switch)
        if expr is None:
            continue
        words = site.words(expr)
        told = True
        if not words:
            yield site.fact(Aspect.COMPUTE, gap=f"`{switch}={_short(expr)}`", framework=HUGGING_FACE)
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


def _argument_parser(site: CallSite) -> Iterator[Fact]:
    text = " ".join(ast.unparse(each) for each in site.call.args)
    if "TrainingArguments" in text or "Config" in text:
        why = "fp16 and bf16 come from the command line (HfArgumentParser)"
        yield site.fact(Aspect.COMPUTE, gap=why, framework=HUGGING_FACE)


def _deepspeed(site: CallSite) -> Iterator[Fact]:
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
        text = _short(config)
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


# -- sharding --------------------------------------------------------------------------------------------------


def _policy(site: CallSite) -> Iterator[Fact]:
    if not site.name.startswith("torch.distributed."):
        return
    yield site.fact(Aspect.DRIVER, "FSDP mixed precision policy", judged_by=RULES)
    yield from site.dtype(Aspect.COMPUTE, site.given("param_dtype", 0), "param_dtype of the FSDP policy")
    reduce = site.given("reduce_dtype", 1)
    if reduce is not None:
        yield from site.dtype(Aspect.REDUCTION, reduce, "reduce_dtype of the FSDP policy")
    elif site.given("param_dtype", 0) is not None:
        yield from site.dtype(Aspect.REDUCTION, site.given("param_dtype", 0), "FSDP reduces in param_dtype by default")


def _comm_hook(site: CallSite) -> Iterator[Fact]:
    hook = site.given("hook", 1)
    name = ast.unparse(hook) if hook is not None else ""
    for word, dtype in (("bf16_compress", "bfloat16"), ("fp16_compress", "float16"), ("powerSGD", "")):
        if word in name and dtype:
            yield site.fact(Aspect.REDUCTION, dtype, note=f"communication hook `{name}`")
        elif word in name:
            yield site.fact(Aspect.REDUCTION, gap=f"communication hook `{name}`")


# -- float8 and small optimizers -------------------------------------------------------------------------------


def _transformer_engine(site: CallSite) -> Iterator[Fact]:
    enabled = site.given("enabled", 0)
    if enabled is not None and site.analysis.evaluator.truth(enabled, site.frame) is False:
        return
    condition = where_on(enabled)
    weights = site.name.endswith("model_init")
    yield site.fact(Aspect.DRIVER, "Transformer Engine", condition=condition)
    aspect = Aspect.WEIGHTS if weights else Aspect.COMPUTE
    yield site.fact(aspect, "float8", note="Transformer Engine", condition=condition)
    yield site.fact(Aspect.DRIVER, gap="Transformer Engine region: its numbers in float8 are not judged")


def _torchao(site: CallSite) -> Iterator[Fact]:
    yield site.fact(Aspect.DRIVER, "torchao float8")
    yield site.fact(Aspect.COMPUTE, "float8", note="layers that torchao converts")
    yield site.fact(Aspect.DRIVER, gap="torchao float8: the numbers of converted layers are not judged")


def _small_optimizer(site: CallSite) -> Iterator[Fact]:
    bits = "4" if site.name.endswith("4bit") else "8"
    is_one = len(site.analysis.evaluator.values(site.call.func, site.frame)) > 1
    condition = ON_ONE_PATH if is_one else ""
    yield site.fact(Aspect.OPTIMIZER_STATE, f"{bits} bits", note=site.name, condition=condition)
    yield from chosen_beside(site.call, site.function, site.analysis)


def _quantized(site: CallSite) -> Iterator[Fact]:
    for keyword, bits in (("load_in_4bit", "4"), ("load_in_8bit", "8")):
        if (expr := site.given(keyword)) is not None and site.words(expr) != ("False",):
            condition = "" if site.words(expr) == ("True",) else where_on(expr)
            value = f"{bits} bits, frozen (bitsandbytes)"
            yield site.fact(Aspect.WEIGHTS, value, note=f"{keyword}={_short(expr)}", condition=condition)
    yield from site.dtype(Aspect.COMPUTE, site.given("bnb_4bit_compute_dtype"), "bnb_4bit_compute_dtype")


def _apex(site: CallSite) -> Iterator[Fact]:
    level = site.given("opt_level")
    words = site.words(level) if level is not None else ("O1",)
    if words == ("O0",):
        return
    yield site.fact(Aspect.DRIVER, "apex.amp")
    yield site.fact(Aspect.COMPUTE, "float16", note=f"opt_level={' or '.join(words) or _short(level)}")
    yield site.fact(Aspect.LOSS_SCALE, "apex's own")
    yield site.fact(Aspect.DRIVER, gap="apex.amp: AMP502 alone is about it")


def _default_dtype(site: CallSite) -> Iterator[Fact]:
    """The default that modules are made in."""
    facts = list(site.dtype(Aspect.WEIGHTS, site.given("d", 0), "torch.set_default_dtype"))
    if len(facts) == 1 and facts[0].value:  # what puts an earlier default back decides nothing
        yield facts[0]


def _tf32(site: CallSite) -> Iterator[Fact]:
    word = site.given("precision", 0)
    if word is not None and {"high", "medium"} & set(site.words(word)):
        yield site.fact(Aspect.COMPUTE, TF32, note=f"set_float32_matmul_precision({_short(word)})")


def _export(site: CallSite) -> Iterator[Fact]:
    yield site.fact(Aspect.EXPORT, gap=f"`{site.name}`: in which dtype the exported model computes")


def _short(expr: ast.expr | None) -> str:
    text = " ".join(ast.unparse(expr).split()) if expr is not None else ""
    return text if len(text) <= 60 else text[:57] + "..."


_READERS: dict[tuple[str, str], Reader] = {
    **{(package, name): _lightning for package in ("lightning", "pytorch_lightning", "lightning_fabric")
       for name in ("Trainer", "Fabric")},
    **{(package, "LightningCLI"): _lightning_cli for package in ("lightning", "pytorch_lightning")},
    ("accelerate", "Accelerator"): _accelerator,
    ("transformers", "TrainingArguments"): _training_arguments,
    ("transformers", "Seq2SeqTrainingArguments"): _training_arguments,
    ("transformers", "HfArgumentParser"): _argument_parser,
    ("trl", "TrlParser"): _argument_parser,
    ("transformers", "BitsAndBytesConfig"): _quantized,
    ("deepspeed", "initialize"): _deepspeed,
    ("torch", "MixedPrecision"): _policy,
    ("torch", "MixedPrecisionPolicy"): _policy,
    ("torch", "set_default_dtype"): _default_dtype,
    ("torch", "set_float32_matmul_precision"): _tf32,
    **{("transformer_engine", name): _transformer_engine for name in
       ("fp8_autocast", "autocast", "fp8_model_init", "quantized_model_init")},
    ("torchao", "convert_to_float8_training"): _torchao,
    ("apex", "initialize"): _apex,
}  # fmt: skip
_OF_TRAINING: frozenset[Reader] = frozenset({_small_optimizer, _default_dtype, _tf32, _comm_hook})
"""What is said of training wherever it stands: of optimizers, and of the whole program."""
_LAST_NAMES = frozenset({last for _, last in _READERS} | {"register_comm_hook"})
