"""Calls that decide a precision, by the qualified name of the callee: which of them train, and who reads them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate.base.records import replace
from verifygate.model.precision_contract import Aspect
from verifygate.static.analysis import Analysis
from verifygate.static.contract import framework_calls as frameworks
from verifygate.static.contract import library_calls as libraries
from verifygate.static.contract.call_site import CallSite, Reader
from verifygate.static.contract.fact import Fact
from verifygate.static.contract.training import TrainingReach
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name, simple_name
from verifygate.static.values.domain import ClassValue, ExternalName

WORDS = (
    *("deepspeed.initialize(", "fp8_autocast(", "te.autocast(", "fp8_model_init(", "convert_to_float8_training("),
    *("MixedPrecisionPolicy(", "MixedPrecision(", "register_comm_hook(", "LightningCLI(", "HfArgumentParser("),
    *("8bit(", "4bit(", "bitsandbytes", "set_default_tensor_type("),
)
"""What a file names beside what the rules look for."""
_SUFFIXES = ("Trainer", "TrainingArguments", "Config", "8bit", "4bit")
"""How the names of classes end that decide a precision, and of those that derive from them."""


def call_facts(analysis: Analysis, reach: TrainingReach) -> Iterator[Fact]:
    """What the calls of the picked modules decide; those in tests are no program's."""
    subclasses = {
        made.node.name for module in analysis.modules for made in module.classes.values()
        if any(_may_decide(last_name(base)) for base in made.node.bases)
    }  # fmt: skip
    for module in analysis.modules:
        for function in module.all_functions if not module.file.is_test else ():
            for call in function.calls:
                last = simple_name(call.func)
                if last in subclasses or _may_decide(last):
                    yield from _of_call(analysis, call, function, reach)


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
        yield from libraries.comm_hook(CallSite(analysis, call, function, "", frame))
    for name in sorted(names):
        reader = _reader(name)
        if reader is None:
            continue
        if reach.is_self_test(Location(function, call)):
            return
        found = list(reader(CallSite(analysis, call, function, name, frame)))
        if reader not in _OF_TRAINING and not _is_of_training(call, function, reader, analysis, reach):
            windows = [each for each in found if each.gap and each.note == libraries.DEFAULT_DTYPE]
            found = [*windows, *(of_evaluation(found) if reach.evaluates(function) else ())]
        yield from found
        return


def _is_of_training(
    call: ast.Call, function: Function, reader: Reader, analysis: Analysis, reach: TrainingReach
) -> bool:
    """Whether what a call makes takes part in a training."""
    if reader is frameworks.deepspeed:
        return reach.is_of_engine(call, function) and reach.is_of_framework(call, function)
    if reader is libraries.transformer_engine:
        regions = analysis.float8_coverage.regions.by_function.get(function, ())
        return all(reach.has_region(each) for each in regions if each.context is call)
    return reach.is_of_framework(call, function)


def of_evaluation(facts: Iterable[Fact]) -> Iterator[Fact]:
    """What facts come to where nothing is trained: who drives and scales there is nobody's driver."""
    for each in facts:
        if each.value and each.aspect in (Aspect.COMPUTE, Aspect.WEIGHTS, Aspect.EVALUATION):
            yield replace(each, aspect=Aspect.EVALUATION)


def _reader(name: str) -> Reader | None:
    package, last = name.partition(".")[0], name.rpartition(".")[2]
    if (reader := _READERS.get((package, last))) is not None:
        return reader
    if package in ("transformers", "trl") and last.endswith("Trainer"):
        return frameworks.hugging_face_trainer
    if package == "trl" and last.endswith("Config"):
        return frameworks.training_arguments
    if (package == "bitsandbytes" and last.endswith("8bit")) or (
        package == "torchao" and last.endswith(("8bit", "4bit"))
    ):
        return libraries.small_optimizer
    return None


_READERS: dict[tuple[str, str], Reader] = {
    **{(package, name): frameworks.lightning for package in ("lightning", "pytorch_lightning", "lightning_fabric")
       for name in ("Trainer", "Fabric", "LightningLite")},
    **{(package, "LightningCLI"): frameworks.lightning_cli for package in ("lightning", "pytorch_lightning")},
    ("composer", "Trainer"): frameworks.composer,
    ("accelerate", "Accelerator"): frameworks.accelerator,
    ("transformers", "TrainingArguments"): frameworks.training_arguments,
    ("transformers", "Seq2SeqTrainingArguments"): frameworks.training_arguments,
    ("transformers", "HfArgumentParser"): frameworks.argument_parser,
    ("trl", "TrlParser"): frameworks.argument_parser,
    ("transformers", "BitsAndBytesConfig"): libraries.quantized,
    ("deepspeed", "initialize"): frameworks.deepspeed,
    ("torch", "MixedPrecision"): libraries.policy,
    ("torch", "MixedPrecisionPolicy"): libraries.policy,
    ("torch", "set_default_dtype"): libraries.default_dtype,
    ("torch", "set_default_tensor_type"): libraries.default_dtype,
    **{("transformer_engine", name): libraries.transformer_engine for name in
       ("fp8_autocast", "autocast", "fp8_model_init", "quantized_model_init")},
    ("torchao", "convert_to_float8_training"): libraries.torchao,
    ("apex", "initialize"): libraries.apex,
}  # fmt: skip
_OF_TRAINING: frozenset[Reader] = frozenset({libraries.small_optimizer, libraries.comm_hook})
"""What is said of training wherever it stands: optimizers, and what is hooked onto gradients."""
_LAST_NAMES = frozenset({last for _, last in _READERS} | {"register_comm_hook"})
