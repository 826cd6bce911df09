"""Put the facts together: one row for each aspect, with what the configuration adds and what stays unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verifygate.base.records import replace
from verifygate.configured_precision.read import train
from verifygate.configured_precision.setting import (
    ACCELERATE,
    DEEPSPEED,
    HUGGING_FACE,
    LIGHTNING,
    OWN,
    TORCHTITAN,
    Setting,
)
from verifygate.model import NotFollowed
from verifygate.model.precision_contract import OF_CODE, Aspect, ContractRow, Declaration, PrecisionContract
from verifygate.static.analysis import Analysis
from verifygate.static.analysis_result import contract_row
from verifygate.static.contract.byte_facts import ByteFacts
from verifygate.static.contract.calls import call_facts, of_evaluation
from verifygate.static.contract.checkpoints import checkpoint_facts
from verifygate.static.contract.derived import Derived, distinct
from verifygate.static.contract.fact import CONFIGURATION_RULES, RULES, Fact
from verifygate.static.contract.framework_calls import configured
from verifygate.static.contract.library_calls import DEFAULT_DTYPE
from verifygate.static.contract.losses import loss_facts
from verifygate.static.contract.own_code import casts_in_models, own_facts
from verifygate.static.contract.tf32 import TF32, tf32_facts
from verifygate.static.contract.training import TrainingReach
from verifygate.static.idioms.deepspeed_tables import scales_in_force
from verifygate.static.symbols.import_graph import Files, ImportGraph

_DRIVERS = {
    LIGHTNING: ("Lightning Trainer", RULES),
    ACCELERATE: ("Accelerate", RULES),
    HUGGING_FACE: (HUGGING_FACE, RULES),
    DEEPSPEED: ("DeepSpeed engine", CONFIGURATION_RULES),
    TORCHTITAN: ("torchtitan", ""),
}

_HAND_TO_DEEPSPEED = (b"deepspeed", b"DeepSpeed", b"transformers", b"accelerate", b"lightning", b"trl")
"""Words of a program that DeepSpeed may get a configuration from."""
_NOT_NAMED = "no code names this file"


def precision_contract(analysis: Analysis, scanned: ByteFacts, *, among_amp: bool = False) -> PrecisionContract:
    """The contract of the sources; without rows where nothing in them trains with torch.

    `among_amp`: they are a part of a project that does AMP elsewhere.
    """
    reach = TrainingReach(analysis, scanned.training, scanned.evaluating, scanned.evaluating_only)
    facts = [*call_facts(analysis, reach), *own_facts(analysis, scanned, reach), *loss_facts(analysis, reach)]
    facts += tf32_facts(analysis)
    facts += [
        fact
        for setting in scales_in_force(analysis.configuration.settings)
        if train(analysis.import_graph.sources)  # else it configures no program of these sources
        for fact in _of_program(setting, reach, analysis.import_graph)
    ]
    facts = list(_outside_windows(facts, analysis))
    facts = [each for each in facts if not _is_filled(each, analysis.configuration.settings)]
    facts += _undriven(facts, scanned, analysis, among_amp=among_amp)
    if not any(each.aspect is Aspect.DRIVER for each in facts):
        return PrecisionContract()
    for each in analysis.configuration.unread:
        facts.append(Fact(aspect=Aspect.COMPUTE, path=each.path, line=each.line, gap=each.reason))
    facts += _beside_tf32(facts, analysis)
    facts += distinct(checkpoint_facts(facts, analysis, scanned, reach))
    facts += distinct(Derived(facts, scanned, analysis, reach).facts())
    return PrecisionContract(rows=tuple(_row(aspect, facts) for aspect in OF_CODE))


def _undriven(facts: list[Fact], scanned: ByteFacts, analysis: Analysis, *, among_amp: bool) -> Iterator[Fact]:
    """The plain training in programs of which no file names a driver, nor a configuration that one reads.

    Where others in the project are driven, it has to step: it may be a tool of theirs. What a file that cannot be
    parsed does is not known.
    """
    drivers = {each.path for each in facts if each.aspect is Aspect.DRIVER and each.value}
    graph = analysis.import_graph
    for setting in analysis.configuration.settings:
        is_read = setting.framework != OWN and (setting.framework != DEEPSPEED or _is_read_by_deepspeed(setting, graph))
        drivers |= set(setting.programs) if is_read and setting.aspect in ("precision", "driver") else set()
    for each in scanned.plain_training:
        program = graph.together(each.path)
        steps = not scanned.stepping.isdisjoint(program) or not (drivers or among_amp)
        if steps and drivers.isdisjoint(program) and analysis.program.failures.keys().isdisjoint(program):
            yield _spoken_of(program, scanned) or each


def _spoken_of(program: Files, scanned: ByteFacts) -> Fact | None:
    """That a program uses AMP, which no rule of the contract follows to a driver; None where it does not."""
    found = ((path, words.may_drive) for path in program if (words := scanned.words.get(path)) is not None)
    path, line = next((each for each in sorted(found) if each[1]), ("", 0))
    gap = "this line uses AMP, and what switches it on is not followed"
    return Fact(aspect=Aspect.DRIVER, path=path, line=line, gap=gap) if line else None


def _beside_tf32(facts: list[Fact], analysis: Analysis) -> list[Fact]:
    """What is not known where nothing but TF32 is said: that is about float32 tensors, and the model may have none."""
    said = [each for each in facts if each.aspect is Aspect.COMPUTE and each.value]
    if not said or any(each.value != TF32 for each in said):
        return []
    gap = "TF32 is all that is said: whether the model computes with float32 tensors is not"
    return list(casts_in_models(analysis)) or [replace(each, value="", gap=gap) for each in said]


def _outside_windows(facts: list[Fact], analysis: Analysis) -> Iterator[Fact]:
    """The facts, without the process's default dtype in programs that make modules while another one is set."""
    windows = {each.path for each in facts if each.aspect is Aspect.WEIGHTS and each.gap and each.note == DEFAULT_DTYPE}
    for each in facts:
        is_default = each.note == DEFAULT_DTYPE and each.value
        if not is_default or windows.isdisjoint(analysis.import_graph.together(each.path)):
            yield each


def _of_program(setting: Setting, reach: TrainingReach, graph: ImportGraph) -> Iterator[Fact]:
    """The facts of a setting; of programs that only run a model, those of their evaluation."""
    found = _of_setting(setting, graph)
    of_programs = bool(setting.programs) and all(reach.only_evaluates(each) for each in setting.programs)
    yield from of_evaluation(found) if of_programs else found


def _is_read_by_deepspeed(setting: Setting, graph: ImportGraph) -> bool:
    """Whether one of the programs that name a file names DeepSpeed, or a framework that hands files to it."""
    if not setting.programs or not setting.reach.startswith("named at"):
        return True
    files = (file for each in setting.programs for file in graph.sources.each(graph.together(each)))
    return any(word in file.data for file in files for word in _HAND_TO_DEEPSPEED)


def _of_setting(setting: Setting, graph: ImportGraph) -> Iterator[Fact]:
    """The facts of one setting in a file, and who reads it."""
    if setting.framework == DEEPSPEED and not _is_read_by_deepspeed(setting, graph):
        gap = f"`{setting.key}: {setting.value}` has the form of DeepSpeed's, which no program that names the file uses"
        yield Fact(aspect=Aspect.COMPUTE, path=setting.path, line=setting.line, gap=gap, said_by="configuration")
        return
    reach = setting.reach or _NOT_NAMED
    note = f"{setting.key}: {setting.value}; {reach}"
    if setting.framework == OWN:
        gap = f"`{setting.key}: {setting.value}` is the project's own key: not followed into its code"
        yield Fact(aspect=Aspect.COMPUTE, path=setting.path, line=setting.line, gap=gap, said_by="configuration")
        return
    if setting.aspect == "driver":
        yield _driver(setting)
        gap = "no `precision` is configured: 32-true, unless an override on the command line says another"
        yield Fact(aspect=Aspect.COMPUTE, path=setting.path, line=setting.line, gap=gap, framework=setting.framework)
        return
    if setting.is_interpolated:
        if setting.framework == DEEPSPEED and setting.reach:
            yield _driver(setting)
        gap = f"`{setting.key}: {setting.value}` is decided when the program starts"
        yield Fact(aspect=Aspect.COMPUTE, path=setting.path, line=setting.line, gap=gap, said_by="configuration")
        return
    found = list(configured(setting, note, "configuration"))
    if found and setting.aspect != "loss scale":
        yield _driver(setting)
    yield from found


def _driver(setting: Setting) -> Fact:
    """Who reads a setting."""
    driver, judged_by = _DRIVERS[setting.framework]
    return Fact(
        aspect=Aspect.DRIVER, value=driver, path=setting.path, line=setting.line, said_by="configuration",
        note=setting.reach or _NOT_NAMED, judged_by=judged_by,
    )  # fmt: skip


def _is_filled(fact: Fact, settings: Iterable[Setting]) -> bool:
    """Whether the configuration says what the code, or another file of it, leaves open."""
    if fact.value or not fact.framework:
        return False
    told = list(settings)
    asking = {fact.path, *(program for each in told if each.path == fact.path for program in each.programs)}
    return any(
        each.framework == fact.framework and each.aspect == "precision" and not each.is_interpolated
        and (not asking.isdisjoint(each.programs) or not each.programs)
        for each in told
    )  # fmt: skip


def _row(aspect: Aspect, facts: list[Fact]) -> ContractRow:
    ours = [each for each in facts if each.aspect is aspect]
    declared = (
        Declaration(
            value=each.value, path=each.path, line=each.line, said_by=each.said_by, note=each.note,
            condition=each.condition, judged_by=each.judged_by,
        )
        for each in ours if each.value
    )  # fmt: skip
    return contract_row(
        aspect, declared, (NotFollowed(path=each.path, line=each.line, reason=each.gap) for each in ours if each.gap)
    )
