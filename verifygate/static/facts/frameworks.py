"""Which training framework made an object, and which precision it was given.

An object is told by its values: what a call of `Accelerator(...)` makes, what its `prepare` hands back, an instance of
a subclass of `LightningModule`. Where an object is a parameter that nothing in sight is passed for, its annotation
tells the framework, and the precision is that of the same program.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property

from verifygate.configured_precision import setting as configured_for
from verifygate.configured_precision.read import ConfiguredPrecision
from verifygate.configured_precision.setting import Setting
from verifygate.framework_names import (
    ACCELERATE,
    DEEPSPEED,
    ENGINE,
    ENGINE_OPTIMIZER,
    FABRIC,
    FRAMEWORKS,
    LIGHTNING,
    OF_MAKER,
    PRECISION_PLUGINS,
    TRANSFORMERS,
    UNPACKED,
    WRAPPERS,
    Framework,
)
from verifygate.static.facts.framework_precisions import (
    PRECISIONS,
    Handle,
    Instance,
    Precision,
    Precisions,
    configured,
)
from verifygate.static.symbols.import_graph import ImportGraph
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function, Module
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.syntax.names import simple_name
from verifygate.static.values.domain import (
    UNKNOWN,
    Bound,
    ClassValue,
    DictLiteral,
    ExternalName,
    ExternalResult,
    Frame,
    Items,
    Literal,
    Object,
    Value,
    Values,
    dict_items,
)
from verifygate.static.values.evaluator import Evaluator

_WORDS = tuple(sorted({f"{maker.rpartition('.')[2]}(".encode() for maker in OF_MAKER}))
_ONLY_WITH_CUDA = frozenset({"torch.cuda.is_available"})
_CONFIGURED_AS = {
    ACCELERATE: configured_for.ACCELERATE,
    FABRIC: configured_for.LIGHTNING,
    LIGHTNING: configured_for.LIGHTNING,
    TRANSFORMERS: configured_for.HUGGING_FACE,
    DEEPSPEED: configured_for.DEEPSPEED,
}
"""How the settings in files name who reads them."""
_ENGINE_PARTS = frozenset(UNPACKED["deepspeed.initialize"])
_RUNS = frozenset({"fit", "train"})


class Frameworks:
    """Answers for the objects of one set of source modules."""

    def __init__(
        self,
        evaluator: Evaluator,
        import_graph: ImportGraph,
        modules: list[Module],
        configuration: ConfiguredPrecision,
    ) -> None:
        self.evaluator = evaluator
        self.configuration = configuration
        self.import_graph = import_graph
        self.modules = modules
        self._instances: dict[tuple[ast.Call, Frame], Instance] = {}

    # -- what gives a precision --------------------------------------------------------------------------------

    @cached_property
    def instances(self) -> list[Instance]:
        """Every call that gives, or could give, a framework its precision."""
        names = {word[:-1].decode() for word in _WORDS}
        found: list[Instance] = []
        for module in self.modules:
            for function in module.all_functions if module.mentions(*_WORDS) else ():
                frame = self.evaluator.root_frame(function)
                for call in function.calls:
                    if simple_name(call.func) not in names:
                        continue
                    for value in self.evaluator.values(call.func, frame):
                        if isinstance(value, ExternalName) and value.name in OF_MAKER:
                            found.append(self._instance(OF_MAKER[value.name], call, frame))
        return found

    def of_program(self, framework: Framework, path: str) -> tuple[Instance, ...]:
        """Those of a framework in the file itself, or else in the programs that it belongs to."""
        found = [each for each in self.instances if each.framework is framework]
        own = tuple(each for each in found if each.place.path == path)
        files = self.import_graph.together(path) if found and not own else ()
        return own or tuple(each for each in found if each.place.path in files)

    def in_program(self, framework: Framework, path: str) -> Handle:
        """What the programs of a file give a framework its precision by, where it is not known which call is meant."""
        instances = self.of_program(framework, path)
        return Handle(
            framework, instances, followed=False, configured=() if instances else self._files(framework, path)
        )

    def _files(self, framework: Framework, path: str) -> tuple[Setting, ...]:
        """The settings of the precision in the files that configure the programs of a source."""
        found = self.configuration.of(_CONFIGURED_AS[framework], path, self.import_graph.together(path))
        return tuple(each for each in found if each.aspect == "precision")

    def _instance(self, framework: Framework, call: ast.Call, frame: Frame) -> Instance:
        if (call, frame) not in self._instances:
            place = Location(frame.function, call)
            precisions = self._precisions(framework, call, frame)
            settings = self._files(framework, place.path) if precisions is None else ()
            self._instances[call, frame] = Instance(
                framework, place, frame, configured(settings) if settings else precisions, settings
            )
        return self._instances[call, frame]

    def _precisions(self, framework: Framework, call: ast.Call, frame: Frame) -> Precisions:
        given = {word.arg: word.value for word in call.keywords}
        if framework is DEEPSPEED:
            return self._of_config(next((given[each] for each in framework.keywords if each in given), None), frame)
        if framework is TRANSFORMERS:
            return self._of_switches(given, frame)
        if "plugins" in given and (plugged := self._of_plugins(given["plugins"], frame)):
            return plugged
        asked = given.get(framework.keywords[0])
        if asked is None:
            unsaid = None if None in given or framework.unsaid is None else PRECISIONS[framework.unsaid]
            return None if unsaid is None or given.get("plugins") is not None else frozenset({unsaid})
        values = self.evaluator.values(asked, frame)
        if not all(isinstance(each, Literal) for each in values):
            return None
        words = [each.value for each in values]  # type: ignore[union-attr]
        if None in words:
            words = [framework.unsaid if each is None else each for each in words]
        return None if None in words else frozenset(PRECISIONS.get(each, Precision.OTHER) for each in words)

    def _of_switches(self, given: dict[str | None, ast.expr], frame: Frame) -> Precisions:
        """What `fp16=` and `bf16=` come to."""
        found: set[Precision] = set()
        fp16, bf16 = (self._truths(given.get(each), frame) for each in ("fp16", "bf16"))
        if None in given and not ("fp16" in given or "bf16" in given):
            return None
        if fp16 is None or bf16 is None:
            return None
        if True in fp16:
            found.add(Precision.FLOAT16)
        if True in bf16:
            found.add(Precision.BFLOAT16)
        if False in fp16 and False in bf16:
            found.add(Precision.FLOAT32)
        return frozenset(found)

    def _truths(self, expr: ast.expr | None, frame: Frame) -> frozenset[bool] | None:
        """What a switch may come to; CUDA may be there or not."""
        if expr is None:
            return frozenset({False})
        found: set[bool] = set()
        for value in self.evaluator.values(expr, frame):
            if isinstance(value, Literal):
                found.add(bool(value.value))
            elif isinstance(value, ExternalResult) and value.name in _ONLY_WITH_CUDA:
                found |= {True, False}
            else:
                return None
        return frozenset(found)

    def _of_plugins(self, expr: ast.expr, frame: Frame) -> Precisions:
        """The precision of a plugin that does it."""
        for value in self.evaluator.values(expr, frame):
            if isinstance(value, Items):
                found = (self._of_plugins(each, value.frame) for each in value.elements)
                if said := next(filter(None, found), None):
                    return said
            elif isinstance(value, ExternalResult) and value.name in PRECISION_PLUGINS and value.calls:
                call, home = value.calls[0]
                given = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "precision")]
                words = self.evaluator.values(given[0], home) if given else ()
                if words and all(isinstance(each, Literal) for each in words):
                    return frozenset(PRECISIONS.get(each.value, Precision.OTHER) for each in words)  # type: ignore[union-attr]
        return None

    def _of_config(self, expr: ast.expr | None, frame: Frame) -> Precisions:
        """The precision in DeepSpeed's settings, where they are a dict written out."""
        if expr is None:
            return None
        found: set[Precision] = set()
        for value in self.evaluator.values(expr, frame):
            if not isinstance(value, DictLiteral):
                return None
            on = {each: self.section_is_on(value, each) for each in ("fp16", "bf16")}
            if None in on.values():
                return None
            if on["fp16"]:
                found.add(Precision.FLOAT16)
            elif on["bf16"]:
                found.add(Precision.BFLOAT16)
            else:
                found.add(Precision.FLOAT32)
        return frozenset(found) or None

    def section_is_on(self, config: DictLiteral, section: str) -> bool | None:
        """Whether `"fp16": {"enabled": True}` stands in settings that are written out."""
        if isinstance(config.node, ast.Dict) and None in config.node.keys:
            return None
        part = dict_items(config.node).get(section)
        if part is None:
            return False
        found: set[bool | None] = set()
        for value in self.evaluator.values(part, config.frame):
            enabled = dict_items(value.node).get("enabled") if isinstance(value, DictLiteral) else None
            found.add(self.evaluator.truth(enabled, value.frame) if enabled is not None else None)  # type: ignore[union-attr]
        return found.pop() if len(found) == 1 else None

    # -- objects -----------------------------------------------------------------------------------------------

    def handle(self, expr: ast.expr, frame: Frame) -> Handle | None:
        """The framework's own object that an expression is: an Accelerator, a Fabric, an engine, settings."""
        return self._handle(self.values_at(expr, frame), frame, self._framework_of)

    def wrapped(self, expr: ast.expr, frame: Frame) -> Handle | None:
        """The framework that an expression was made part of, where it may have been: what `prepare` handed back."""
        return self._handle(self.values_at(expr, frame), frame, _wrapper_of)

    def values_at(self, expr: ast.expr, frame: Frame) -> Values:
        """The values of an expression where it stands: of a local name, those of the assignments that reach it."""
        if isinstance(expr, ast.Name):
            found = self.evaluator.lookup(expr.id, frame)
            several = found is not None and found[1] is frame and len(found[0]) > 1
            last = reaching(expr.id, expr, frame.function) if several else None
            if last and found is not None and len(last) < len(found[0]):
                return tuple(value for each in last for value in self.evaluator.given_by(each, frame))
        return self.evaluator.values(expr, frame)

    def _framework_of(self, value: Value) -> Framework | None:
        match value:
            case ExternalResult(name=name):
                return DEEPSPEED if name == ENGINE else OF_MAKER.get(name)
            case Object(made=made):
                names = self.evaluator.outside_bases(made)
                return next((OF_MAKER[each] for each in sorted(names) if each in OF_MAKER), None)
        return None

    def _handle(self, values: Values, frame: Frame, framework_of: Callable[[Value], Framework | None]) -> Handle | None:
        found: dict[Framework, list[Instance]] = {}
        followed = True
        for value in values:
            framework = framework_of(value)
            if framework is None:
                followed = followed and isinstance(value, Literal) and value.value is None
                continue
            made = list(self._made_by(value, framework))
            followed = followed and bool(made)
            found.setdefault(framework, []).extend(made)
        if len(found) != 1:
            return None
        framework, instances = found.popitem()
        if not instances:
            return self.in_program(framework, frame.function.module.path)
        return Handle(framework, tuple(instances), followed)

    def _made_by(self, value: Value, framework: Framework) -> Iterator[Instance]:
        """The calls that gave the precision of an object."""
        match value:
            case ExternalResult(name=name, calls=[(call, home), *_]) if name in OF_MAKER or name in _ENGINE_PARTS:
                yield self._instance(framework, call, home)
            case ExternalResult(name=name, calls=[(call, home), *_]) if name in WRAPPERS:
                owner = self.handle(call.func.value, home) if isinstance(call.func, ast.Attribute) else None
                yield from owner.instances if owner is not None and owner.followed else ()
            case Object(call=Bound(expr=ast.Call() as call, frame=home)):
                yield self._instance(framework, call, home)

    def is_raw_optimizer(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether an expression surely is an optimizer of torch as it was built."""
        return self._is_raw(expr, frame, _is_an_optimizer)

    def is_raw_schedule(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether an expression surely is a learning-rate schedule of torch as it was built."""
        return self._is_raw(expr, frame, _is_a_schedule)

    def _is_raw(self, expr: ast.expr, frame: Frame, is_one: Callable[[str], bool]) -> bool:
        values = self.values_at(expr, frame)
        return all(isinstance(each, ExternalResult) and is_one(each.name) and bool(each.calls) for each in values)

    def is_of_an_optimizer(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether what a framework handed back was an optimizer of torch before."""
        for value in self.values_at(expr, frame):
            if isinstance(value, ExternalResult) and value.name in WRAPPERS and value.calls:
                call, home = value.calls[0]
                given = self.evaluator.values(call.args[0], home) if call.args else ()
                if any(isinstance(each, ExternalResult) and _is_an_optimizer(each.name) for each in given):
                    return True
        return False

    def is_engine_optimizer(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether an expression is the optimizer that `deepspeed.initialize` returned."""
        values = self.values_at(expr, frame)
        return any(isinstance(each, ExternalResult) and each.name == ENGINE_OPTIMIZER for each in values)

    # -- classes that a framework runs -------------------------------------------------------------------------

    def host(self, made: Class) -> Framework | None:
        """The framework that runs the methods of a class: Lightning a LightningModule's, transformers a Trainer's."""
        bases = self.evaluator.outside_bases(made)
        return next((each for each in FRAMEWORKS if each.hosts & bases), None)

    def caller_back(self, made: Class) -> Framework | None:
        """The framework that calls the hooks of a class: of a callback, or of what it runs."""
        bases = self.evaluator.outside_bases(made)
        return next((each for each in FRAMEWORKS if (each.callbacks | each.hosts) & bases), None)

    def running(self, method: Function) -> Handle | None:
        """The framework that runs a method of a class, with what gives it the precision."""
        made = method.owner
        framework = self.host(made) if made is not None else None
        if made is None or framework is None:
            return None
        direct = [each for classes, each in self._runs if any(self._runs_it(method, one) for one in classes or ())]
        if direct and not any(classes is None for classes, _ in self._runs):
            return Handle(framework, tuple(dict.fromkeys(each for part in direct for each in part)), followed=True)
        return self.in_program(framework, made.module.path)

    def _runs_it(self, method: Function, made: Class) -> bool:
        """Whether an object of a class has the method, and none in its place that does not call it."""
        for each in self.evaluator.linearised(made):
            own = each.methods.get(method.name)
            if own is method or each is method.owner:
                return True
            if own is not None and not any(ast.unparse(call.func).startswith("super(") for call in own.calls):
                return False
        return False

    @cached_property
    def _runs(self) -> list[tuple[frozenset[Class] | None, tuple[Instance, ...]]]:
        """What is run with which settings: `trainer.fit(model)`, `MyTrainer(args=arguments)`.

        The classes of what is run; None where it is not known what is run.
        """
        found: list[tuple[frozenset[Class] | None, tuple[Instance, ...]]] = []
        for module in self.modules:
            if not module.mentions(b".fit(", b"args="):
                continue
            for function in module.all_functions:
                frame = self.evaluator.root_frame(function)
                for call in function.calls:
                    found += self._run_by(call, frame)
        return found

    def _run_by(self, call: ast.Call, frame: Frame) -> Iterator[tuple[frozenset[Class] | None, tuple[Instance, ...]]]:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "fit" and (call.args or call.keywords):
            handle = self.handle(call.func.value, frame)
            if handle is not None and handle.framework is LIGHTNING and handle.followed:
                given = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "model")]
                yield self._classes(self.evaluator.values(given[0], frame) if given else ()), handle.instances
            return
        settings = next((word.value for word in call.keywords if word.arg == "args"), None)
        if settings is not None and any(
            isinstance(each, ClassValue) for each in self.evaluator.values(call.func, frame)
        ):
            handle = self.handle(settings, frame)
            if handle is not None and handle.framework is TRANSFORMERS and handle.followed:
                yield self._classes(self.evaluator.values(call, frame)), handle.instances

    def _classes(self, values: Values) -> frozenset[Class] | None:
        if not values or not all(isinstance(each, Object) for each in values):
            return None
        return frozenset(each.made for each in values)  # type: ignore[union-attr]

    def steps_itself(self, made: Class) -> bool:
        """Whether a LightningModule optimizes by hand: it sets `automatic_optimization` to False."""
        for each in self.evaluator.linearised(made):
            for binding, owner in each.attributes.get("automatic_optimization", ()):
                home = self.evaluator.root_frame(owner) if owner else self.evaluator.module_frame(each.module)
                if binding.expr is not None and self.evaluator.truth(binding.expr, home) is False:
                    return True
            method = each.methods.get("automatic_optimization")
            if method is not None and any(isinstance(v, ast.Constant) and v.value is False for v in method.returns):
                return True
        return False

    def number(self, expr: ast.expr | None, frame: Frame) -> int | None:
        """The whole number that an expression surely is."""
        values = self.evaluator.values(expr, frame) if expr is not None else (UNKNOWN,)
        match values:
            case (Literal(value=int() as number),):
                return number
        return None


def _wrapper_of(value: Value) -> Framework | None:
    if not isinstance(value, ExternalResult):
        return None
    return DEEPSPEED if value.name in _ENGINE_PARTS else WRAPPERS.get(value.name)


def _is_an_optimizer(name: str) -> bool:
    return name.startswith("torch.optim.") and not name.startswith(("torch.optim.lr_", "torch.optim.swa_"))


def _is_a_schedule(name: str) -> bool:
    return name.startswith("torch.optim.lr_scheduler.")
