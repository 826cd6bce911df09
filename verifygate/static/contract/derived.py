"""What follows from other rows by how torch works: the dtypes of gradients, optimizer state, accumulation, reduction.

A parameter gets a gradient of its own dtype, in `.grad`, where the gradients of several backwards are added up; torch's
optimizers make their state like the parameters; DistributedDataParallel reduces gradients as they are. Weights are of
torch's default dtype, float32, where a program makes its model, and no line of it may give them another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verifygate.base.records import record, replace
from verifygate.model.precision_contract import DERIVED, Aspect
from verifygate.static.analysis import Analysis
from verifygate.static.contract.byte_facts import ByteFacts
from verifygate.static.contract.fact import FROZEN, Fact
from verifygate.static.contract.program_words import FileWords
from verifygate.static.contract.training import TrainingReach
from verifygate.static.contract.words import NO_SCALE
from verifygate.static.symbols.import_graph import Files

_DTYPES = frozenset({"float16", "bfloat16", "float32", "float64"})
_AS_THE_WEIGHTS = "as the weights"
_OF_DEEPSPEED = "DeepSpeed keeps"
_FLOAT32 = "float32, torch's default"
_OWN_DRIVERS = ("own code", "nobody", "FSDP")
_KEEP_DTYPE = (*_OWN_DRIVERS, "Lightning", "Accelerate")
"""Drivers under which weights stay in the dtype that the program makes them in."""

_EVALUATE_AS_THEY_TRAIN = ("Lightning Trainer", "Hugging Face Trainer")
_EVALUATES = (b"def validation_step", b"def test_step", b"eval_dataset=", b".evaluate(", b"compute_metrics=")
"""Words of a program that evaluates by one of them."""


@record
class _Program:
    """A file that trains, with all that runs with it."""

    path: str
    line: int
    files: Files
    words: tuple[tuple[str, FileWords], ...]
    drivers: tuple[str, ...]

    @property
    def is_of_deepspeed(self) -> bool:
        return any("DeepSpeed" in each for each in self.drivers)

    @property
    def may_leave_torch(self) -> bool:
        """Whether DeepSpeed, or a framework that a launcher gives one, may keep the gradients its own way."""
        named = any(each.names_deepspeed for _, each in self.words)
        return named or not all(each.startswith((*_OWN_DRIVERS, "Lightning")) for each in self.drivers)

    def says(self, name: str) -> bool:
        return any(getattr(each, name) for _, each in self.words)

    def places(self, name: str) -> list[tuple[str, int, FileWords]]:
        """The first place of a kind of line in each file, that of the file that trains before others."""
        found = [(path, line, each) for path, each in self.words if (line := getattr(each, name))]
        return sorted(found, key=lambda each: (each[0] != self.path, each[0]))


class Derived:
    """Derives facts from those that lines say."""

    def __init__(self, facts: list[Fact], scanned: ByteFacts, analysis: Analysis, reach: TrainingReach) -> None:
        self._facts = facts
        self._by_path: dict[str, list[tuple[int, Fact]]] = {}
        """Path -> the facts that its lines say, with their places among all."""
        for place, fact in enumerate(facts):
            self._by_path.setdefault(fact.path, []).append((place, fact))
        self._graph = analysis.import_graph
        self._words = scanned.words
        self._backwards = {each.path: each.line for each in scanned.plain_training if each.path in scanned.stepping}
        self._programs = list(self._trained(reach))

    def facts(self) -> Iterator[Fact]:
        for program in self._programs:
            ours = [each for each in self._said_in(program.files) if each.aspect is Aspect.WEIGHTS]
            made = list(self._default_weights(program)) if not ours else []
            yield from made
            yield from self._without_scaler(program)
            yield from self._evaluated_as_trained(program)
            yield from self._of_program(program, [each for each in (*ours, *made) if each.value])
        trained = {each for program in self._programs for each in program.files}
        weights = [each for each in self._facts if each.aspect is Aspect.WEIGHTS]
        for each in weights:  # of a configuration, or of code that nothing reaches
            if each.path not in trained and FROZEN not in each.value:
                yield from _gradients(each)
                if _OF_DEEPSPEED in each.value:
                    yield _state_of_deepspeed(each)

    def _said_in(self, files: Files) -> list[Fact]:
        """The facts that the lines of these files say, in order."""
        found = sorted(said for path in files for said in self._by_path.get(path, ()))
        return [fact for _, fact in found]

    def _trained(self, reach: TrainingReach) -> Iterator[_Program]:
        """The programs that train: one for each file with a driver of a training."""
        seen: set[Files] = set()
        drivers = [each for each in self._facts if each.aspect is Aspect.DRIVER and each.value]
        configured = tuple(each.value for each in drivers if each.said_by == "configuration")
        for each in drivers:
            if each.said_by != "code" or reach.only_evaluates(each.path):
                continue
            files = self._graph.together(each.path)
            if files in seen:
                continue
            seen.add(files)
            words = tuple((path, said) for path in files if (said := self._words.get(path)) is not None)
            said_here = (fact for fact in self._said_in(files) if fact.aspect is Aspect.DRIVER and fact.value)
            ours = tuple(dict.fromkeys(fact.value for fact in said_here))
            steps = [(path, self._backwards[path]) for path in files if path in self._backwards]
            path, line = min(steps, default=(each.path, each.line), key=lambda step: (step[0] != each.path, step))
            yield _Program(path, line, files, words, (*ours, *configured))

    def _evaluated_as_trained(self, program: _Program) -> Iterator[Fact]:
        """Lightning and transformers evaluate in the region in which they train, unless they are told another way."""
        if len(program.drivers) != 1 or program.drivers[0] not in _EVALUATE_AS_THEY_TRAIN:
            return
        ours = self._said_in(program.files)
        if any(each.aspect is Aspect.EVALUATION for each in ours):
            return
        if not any(word in file.data for file in self._graph.sources.each(program.files) for word in _EVALUATES):
            return
        note = f"by how {program.drivers[0]} works: as it trains"
        for each in ours:
            if each.aspect is Aspect.COMPUTE and each.value:
                yield replace(each, aspect=Aspect.EVALUATION, note=note, said_by=DERIVED)

    # -- weights -----------------------------------------------------------------------------------------------

    def _default_weights(self, program: _Program) -> Iterator[Fact]:
        """float32, where the program makes an optimizer of torch, and no line in it may cast."""
        made = program.places("optimizer")
        if not made or not all(each.startswith(_KEEP_DTYPE) for each in program.drivers):
            return
        if any(map(_may_be_true, self._said_in(program.files))):
            return
        for path, line, _ in program.places("may_cast")[:1]:
            gap = "torch's default dtype, unless this line casts trained weights"
            yield Fact(aspect=Aspect.WEIGHTS, path=path, line=line, gap=gap)
            return
        path, line, _ = made[0]
        note = "torch's default; nothing in the source of this program sets another"
        launched = any(each.startswith("Accelerate") for each in program.drivers)
        yield Fact(
            aspect=Aspect.WEIGHTS, path=path, line=line, value=_FLOAT32, note=note, said_by=DERIVED,
            condition="unless launched with DeepSpeed" if launched else "",
        )  # fmt: skip

    # -- what follows from them --------------------------------------------------------------------------------

    def _of_program(self, program: _Program, weights: list[Fact]) -> Iterator[Fact]:
        symbolic = Fact(
            aspect=Aspect.WEIGHTS, path=program.path, line=program.line, value=_AS_THE_WEIGHTS,
            note="by how torch works; their dtype is not followed",
        )  # fmt: skip
        if not weights and program.is_of_deepspeed and any(_OF_DEEPSPEED in each.value for each in self._facts):
            return  # a configuration says it
        owns = program.says("owns_gradients")
        has_policy = any(each.startswith("FSDP") for each in program.drivers)
        accumulates_in_place = not owns and not has_policy and not program.may_leave_torch
        known = [each for each in weights or [symbolic] if FROZEN not in each.value]  # of others, what is trained
        for each in known:  # beside them is not followed
            yield from _gradients(each)
            if _OF_DEEPSPEED in each.value:
                yield _state_of_deepspeed(each)
            elif _dtype(each) and accumulates_in_place:
                yield _follows(each, Aspect.ACCUMULATION, "in `.grad`, as the gradients")
        known = [each for each in known if _OF_DEEPSPEED not in each.value]
        if program.is_of_deepspeed:
            return
        if not owns:
            yield from self._reduced(program, known)
        if not program.says("owns_masters"):
            yield from self._states(program, known)

    def _reduced(self, program: _Program, weights: list[Fact]) -> Iterator[Fact]:
        """What DistributedDataParallel reduces in, where no hook is registered."""
        note = "DistributedDataParallel reduces gradients in their own dtype"
        for path, line, _ in program.places("ddp"):
            for each in _beside(path, weights):
                yield _follows(each, Aspect.REDUCTION, note, path, line)

    def _states(self, program: _Program, weights: list[Fact]) -> Iterator[Fact]:
        """What torch's optimizers make their state in."""
        told = {each.path for each in self._said_in(program.files) if each.aspect is Aspect.OPTIMIZER_STATE}
        for path, line, words in program.places("optimizer"):
            for each in _beside(path, weights) if path not in told else ():
                note = f"torch's {words.optimizer_name} makes its state like the weights"
                name = f"of {words.optimizer_name}"
                found = _follows(each, Aspect.OPTIMIZER_STATE, note, path, line)
                yield replace(found, condition=f"{found.condition}, {name}" if found.condition else name)

    # -- loss scale --------------------------------------------------------------------------------------------

    def _without_scaler(self, program: _Program) -> Iterator[Fact]:
        """That nothing scales the loss, where the program drives itself and speaks of no scaler."""
        if not all(each.startswith(_OWN_DRIVERS) for each in program.drivers):
            return
        if program.says("may_scale"):
            return
        yield Fact(
            aspect=Aspect.LOSS_SCALE, value=NO_SCALE, path=program.path, line=program.line, said_by=DERIVED,
            note="no scaler is made in this program",
        )  # fmt: skip


def _dtype(weights: Fact) -> str:
    """The dtype of weights, or that it is theirs."""
    dtype = weights.value.partition(",")[0]
    return dtype if dtype in _DTYPES or dtype == _AS_THE_WEIGHTS else ""


def _beside(path: str, weights: list[Fact]) -> list[Fact]:
    """The weights that what stands in a file may be given: those that the file itself says, else those of others."""
    return [each for each in weights if each.path == path] or weights


def _gradients(weights: Fact) -> Iterator[Fact]:
    """The dtype of the gradients: said by the line that says the one of the weights, where there is one."""
    if _dtype(weights):
        found = _follows(weights, Aspect.GRADIENTS, "as the weights that own them")
        is_said = _dtype(weights) != _AS_THE_WEIGHTS
        yield replace(found, said_by=weights.said_by) if is_said else found


def _follows(weights: Fact, aspect: Aspect, note: str, path: str = "", line: int = 0) -> Fact:
    """What follows from weights, at their line or at one of its own."""
    return Fact(
        aspect=aspect, value=_dtype(weights), path=path or weights.path, line=line or weights.line, note=note,
        condition=weights.condition, said_by=DERIVED,
    )  # fmt: skip


def _state_of_deepspeed(weights: Fact) -> Fact:
    return Fact(
        aspect=Aspect.OPTIMIZER_STATE, value="float32", path=weights.path, line=weights.line,
        note="of the float32 master copy that DeepSpeed keeps", condition=weights.condition, said_by=DERIVED,
    )  # fmt: skip


def _may_be_true(fact: Fact) -> bool:
    """Whether a framework's precision may be one that casts the weights, such as `bf16-true`."""
    return fact.aspect is Aspect.COMPUTE and bool(fact.gap) and fact.framework == "Lightning"


def distinct(facts: Iterable[Fact]) -> list[Fact]:
    """Each fact once: several programs share files."""
    return list(dict.fromkeys(facts))
