"""What a framework runs: the calls that hand it a model and data, and the frames in which it enters the hooks.

`trainer.fit(module, loader)` has Lightning call `module.training_step(batch, index)` for each batch of the loader, and
`on_train_batch_end(outputs, ...)` with what that returns. `Trainer(model=net, train_dataset=data)` of transformers has
`compute_loss(net, inputs)` called for each batch of the data. No call of these methods stands in the project.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from verifygate.base.records import record
from verifygate.framework_names import DATA_MODULES, LIGHTNING, TRANSFORMERS, Framework
from verifygate.static.facts.frameworks import Frameworks
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.names import simple_name
from verifygate.static.values.domain import Bound, ClassValue, ExternalName, Frame, Object, Values

_FIT = ("model", "train_dataloaders", "val_dataloaders", "datamodule")
"""The parameters of Lightning's `fit`, in order."""
_TRAINER = ("model", "args", "data_collator", "train_dataset", "eval_dataset")
"""The first parameters of transformers' Trainer."""
_LOADERS = {
    "training_step": ("train_dataloaders", "train_dataloader"),
    "validation_step": ("val_dataloaders", "val_dataloader"),
}
"""Step of a LightningModule -> what `fit` is given for its loader, and the hook that is asked otherwise."""
_WITH_BATCH = {"compute_loss": 1, "training_step": 1, "prediction_step": 1}
"""Method of transformers' Trainer -> where its batch is among the arguments; the model comes first."""
_CHANGE_BATCHES = frozenset(
    {"on_before_batch_transfer", "transfer_batch_to_device", "on_after_batch_transfer", "on_train_batch_start"}
)
"""Hooks that Lightning hands a batch before the step gets it."""
_BRING_BATCHES = frozenset({"_prepare_inputs", "get_train_dataloader", "get_batch_samples"})
"""Methods of transformers' Trainer that a subclass overrides to bring other batches."""
_RESULTS = {"on_train_batch_end": "training_step", "on_validation_batch_end": "validation_step"}
"""Hook -> the step whose outputs it is given."""


@record(eq=False)
class Run:
    """One call that hands a framework what it trains: of Lightning's `fit`, or of a transformers Trainer's class."""

    framework: Framework
    call: ast.Call
    frame: Frame
    given: dict[str, ast.expr]
    """Name of a parameter -> what the call gives for it."""
    classes: tuple[Class, ...]
    """The classes whose methods the framework calls: of the LightningModule, or of the Trainer itself."""

    @property
    def place(self) -> Location:
        return Location(self.frame.function, self.call)


@record(eq=False)
class Step:
    """A method that a framework calls with a batch."""

    run: Run
    function: Function
    batch: str
    """Its parameter that gets the batch."""


class FrameworkRuns:
    """Finds them in the modules of one analysis."""

    def __init__(self, frameworks: Frameworks) -> None:
        self._frameworks = frameworks
        self._evaluator = frameworks.evaluator

    @cached_property
    def all(self) -> list[Run]:
        """Every call by which a framework that is known runs something."""
        return [
            run
            for module in self._frameworks.modules
            if module.mentions(*self._words)
            for function in module.all_functions
            for call in function.calls
            for run in self._run_by(call, self._evaluator.root_frame(function))
        ]

    @cached_property
    def _words(self) -> tuple[bytes, ...]:
        """What a file names that hands something to a framework."""
        is_there = any(each.framework is LIGHTNING for each in self._frameworks.instances)
        return (b".fit(", b"train_dataset") if is_there else (b"train_dataset",)

    def _run_by(self, call: ast.Call, frame: Frame) -> Iterator[Run]:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "fit":
            handle = self._frameworks.handle(call.func.value, frame)
            given = _given(call, _FIT)
            if handle is not None and handle.framework is LIGHTNING and "model" in given:
                yield Run(LIGHTNING, call, frame, given, self._classes_at(given["model"], frame))
        elif _may_name_a_class(simple_name(call.func)) and ("train_dataset" in (given := _given(call, _TRAINER))):
            for value in self._evaluator.values(call.func, frame):
                if isinstance(value, ClassValue) and self._frameworks.host(value.made) is TRANSFORMERS:
                    yield Run(TRANSFORMERS, call, frame, given, (value.made,))
                elif isinstance(value, ExternalName) and value.name in TRANSFORMERS.hosts:
                    yield Run(TRANSFORMERS, call, frame, given, ())

    def _classes_at(self, expr: ast.expr, frame: Frame) -> tuple[Class, ...]:
        values = self._frameworks.values_at(expr, frame)
        return tuple(dict.fromkeys(each.made for each in values if isinstance(each, Object)))

    # -- batches -----------------------------------------------------------------------------------------------

    def steps(self, run: Run) -> Iterator[Step]:
        """The methods that a run calls with the batches of the data that it is given, as they come from there."""
        for made in run.classes:
            if run.framework is LIGHTNING and not self._changes_batches(run, made):
                for name, (given, hook) in _LOADERS.items():
                    if given in run.given or self._is_given_a_data_module(run) or self.method(made, hook) is not None:
                        yield from self._step(run, made, name, 0)
            elif (
                run.framework is TRANSFORMERS and self.takes_its_arguments(made) and not self._has(_BRING_BATCHES, made)
            ):
                for name, position in _WITH_BATCH.items():
                    yield from self._step(run, made, name, position)

    def _step(self, run: Run, made: Class, name: str, position: int) -> Iterator[Step]:
        function = self.method(made, name)
        parameters = [each.arg for each in function.parameters[1:]] if function is not None else []
        if function is not None and len(parameters) > position:
            yield Step(run, function, parameters[position])

    def loader(self, step: Step) -> Bound:
        """What gives the batches of a LightningModule's step: the loader given to `fit`, or the hook that makes it."""
        run, (given, hook) = step.run, _LOADERS[step.function.name]
        if self._is_given_a_data_module(run):
            source = run.given.get("datamodule") or run.given["train_dataloaders"]
        elif given in run.given:
            return Bound(run.given[given], run.frame)
        else:
            source = run.given["model"]
        return Bound(_call_of(source, hook), run.frame)

    def _is_given_a_data_module(self, run: Run) -> bool:
        if "datamodule" in run.given:
            return True
        first = run.given.get("train_dataloaders")
        return first is not None and self._is_a_data_module(self._frameworks.values_at(first, run.frame))

    def _is_a_data_module(self, values: Values) -> bool:
        return bool(values) and all(
            isinstance(each, Object) and bool(DATA_MODULES & self._evaluator.outside_bases(each.made))
            for each in values
        )

    def _changes_batches(self, run: Run, made: Class) -> bool:
        """Whether a hook gets the batch before the step: of the module, of the data module, or of any callback."""
        classes = [made]
        for name in ("datamodule", "train_dataloaders"):
            if name in run.given:
                classes += self._classes_at(run.given[name], run.frame)
        return any(self._has(_CHANGE_BATCHES, each) for each in classes) or self._callbacks_change_batches

    @cached_property
    def _callbacks_change_batches(self) -> bool:
        return any(
            self._is_a_callback(made)
            for module in self._frameworks.modules
            if module.mentions(b"def on_train_batch_start(")
            for made in module.classes.values()
            if "on_train_batch_start" in made.methods
        )

    def _has(self, names: frozenset[str], made: Class) -> bool:
        return any(not names.isdisjoint(each.methods) for each in self._evaluator.linearised(made))

    def takes_its_arguments(self, made: Class) -> bool:
        """Whether a subclass of Trainer gives its base what it is given itself for the model and the data."""
        for each in self._evaluator.linearised(made):
            if not {"model", "data_collator", "train_dataset"}.isdisjoint(each.attributes):
                return False
            init = each.methods.get("__init__")
            if init is not None and not _hands_on(init):
                return False
        return True

    def method(self, made: Class, name: str) -> Function | None:
        """The method of the project that an object of a class has by a name."""
        return next((each.methods[name] for each in self._evaluator.linearised(made) if name in each.methods), None)

    def receivers(self, function: Function) -> list[Bound]:
        """The modules on which Lightning runs a method, where `fit` is given them."""
        if function.owner is None or not self._words[1:]:
            return []
        return [
            Bound(run.given["model"], run.frame)
            for run in self.all
            if run.framework is LIGHTNING and any(self.method(made, function.name) is function for made in run.classes)
        ]

    # -- frames ------------------------------------------------------------------------------------------------

    def entries(self, function: Function) -> list[Frame]:
        """The function as the framework's calls enter it, where it is one of its hooks and what it gets is in sight."""
        if function.owner is None or not (function.name in _RESULTS or function.name in _WITH_BATCH):
            return []
        found: list[Frame] = []
        for run in self.all:
            if not run.classes and run.framework is LIGHTNING:
                return []  # it may be any module
            for made in run.classes:
                if function.name in _WITH_BATCH and run.framework is TRANSFORMERS:
                    if self.method(made, function.name) is function and self.takes_its_arguments(made):
                        found += self._entered(function, run, [run.given.get("model")], made)
                elif function.name in _RESULTS and run.framework is LIGHTNING:
                    found += self._after_a_step(function, run, made)
        return found

    def _after_a_step(self, function: Function, run: Run, made: Class) -> list[Frame]:
        """A hook that gets what a step returned: of the module, or of a callback."""
        step, model = _RESULTS[function.name], run.given["model"]
        if self.method(made, step) is None:
            return []
        outputs = _call_of(model, step)
        if self.method(made, function.name) is function:
            return self._entered(function, run, [outputs], made)
        if function.owner is not None and self._is_a_callback(function.owner):
            return self._entered(function, run, [None, model, outputs], function.owner)
        return []

    def _is_a_callback(self, made: Class) -> bool:
        return not LIGHTNING.callbacks.isdisjoint(self._evaluator.outside_bases(made))

    def _entered(self, function: Function, run: Run, given: list[ast.expr | None], made: Class) -> list[Frame]:
        home = run.frame
        if home.entered(function):
            return []
        names = [each.arg for each in function.parameters[1:]]
        arguments = {name: Bound(expr, home) for name, expr in zip(names, given, strict=False) if expr is not None}
        return [Frame(function, arguments=arguments, receiver_class=made, caller=home, call=run.call)]


def _given(call: ast.Call, names: tuple[str, ...]) -> dict[str, ast.expr]:
    given = dict(zip(names, call.args, strict=False))
    return given | {word.arg: word.value for word in call.keywords if word.arg is not None}


def _call_of(holder: ast.expr, method: str) -> ast.Call:
    """The call of a method as a framework makes it, at the place of what has the method."""
    func = ast.copy_location(ast.Attribute(holder, method, ast.Load()), holder)
    return ast.copy_location(ast.Call(func=func, args=[], keywords=[]), holder)


def _may_name_a_class(name: str) -> bool:
    return name[:1].isupper()


def _hands_on(init: Function) -> bool:
    """Whether a constructor gives its base all that it takes by stars, and nothing else for the model and the data."""
    own = {"model", "data_collator", "train_dataset"}
    if not own.isdisjoint(each.arg for each in init.parameters):
        return False
    calls = [each for each in init.calls if ast.unparse(each.func) == "super().__init__"]
    return len(calls) == 1 and own.isdisjoint(word.arg for word in calls[0].keywords if word.arg is not None)
