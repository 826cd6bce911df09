"""The shapes of batches and of the items that they are made of: what datasets and collate functions return."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verifygate.base.records import record
from verifygate.framework_names import TRANSFORMERS
from verifygate.static.analysis import Analysis
from verifygate.static.facts.dict_keys import KeySet
from verifygate.static.facts.framework_runs import Run, Step
from verifygate.static.idioms.data_loaders import DATA_LOADERS, Loader, loaders
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import ExternalResult, FunctionValue, Object, Values

_RENAMED = frozenset({"label", "label_ids"})
"""Keys of items that the default collator of transformers calls `labels` in the batch."""
_CHOOSE_A_COLLATOR = frozenset({"processing_class", "tokenizer", "feature_extractor", "model_init"})
"""Arguments of a Trainer by which another collator becomes the default."""


@record(eq=False)
class BatchSource:
    """What batches are made of: items of a dataset, put together by a function, or as the library does it."""

    items: Values
    """What the dataset may be."""
    collate: Values | None
    """What puts items together; None where the library does."""
    renames: bool = False
    """Whether the library calls labels by another name in the batch."""


def source_of_loader(loader: Loader) -> BatchSource:
    """What a DataLoader draws from; without batches the collate function gets single items."""
    given = loader.given("collate_fn")
    return BatchSource(loader.values("dataset"), None if given is None else loader.values("collate_fn"))


def source_of_trainer(run: Run, analysis: Analysis) -> BatchSource | None:
    """What transformers' Trainer draws from; None where it picks a collator by what cannot be seen."""
    items = analysis.evaluator.values(run.given["train_dataset"], run.frame)
    if (collate := run.given.get("data_collator")) is not None:
        return BatchSource(items, analysis.evaluator.values(collate, run.frame))
    if _CHOOSE_A_COLLATOR & run.given.keys() or any(word.arg is None for word in run.call.keywords):
        return None
    return BatchSource(items, None, renames=True)


def source_of_step(step: Step, analysis: Analysis) -> BatchSource | None:
    """What the batches of a step are made of that a framework calls; None where that cannot be told."""
    if step.run.framework is TRANSFORMERS:
        return source_of_trainer(step.run, analysis)
    bound = analysis.framework_runs.loader(step)
    match analysis.evaluator.values(bound.expr, bound.frame):
        case (ExternalResult(name=name, calls=[*_, (call, frame)]),) if name in DATA_LOADERS:
            return source_of_loader(Loader(call, frame, frame.function, analysis))
    return None


def sources(analysis: Analysis) -> Iterator[BatchSource]:
    """Every source of batches in the picked modules whose items are put together in batches."""
    for loader in loaders(analysis):
        if loader.constant("batch_size", 1) is not None:
            yield source_of_loader(loader)
    for run in analysis.framework_runs.all:
        takes = all(map(analysis.framework_runs.takes_its_arguments, run.classes))
        if run.framework is TRANSFORMERS and takes and (source := source_of_trainer(run, analysis)) is not None:
            yield source


def item_shapes(source: BatchSource, analysis: Analysis) -> list[KeySet]:
    """The shapes of the items; nothing where one of them is not known."""
    makers = [_method(analysis, each, "__getitem__") if isinstance(each, Object) else None for each in source.items]
    return _returned(analysis, makers)


def collators(source: BatchSource, analysis: Analysis) -> list[Function | None]:
    """The project's functions that put the items together; None for what is not one."""
    found: list[Function | None] = []
    for each in source.collate or ():
        match each:
            case Object():
                found.append(_method(analysis, each, "__call__"))
            case FunctionValue():
                found.append(each.function)
            case _:
                found.append(None)
    return found


def batch_shapes(source: BatchSource, analysis: Analysis) -> list[KeySet]:
    """The shapes of the batches; nothing where one of them is not known."""
    if source.collate is not None:
        return _returned(analysis, collators(source, analysis))
    shapes = item_shapes(source, analysis)
    return [_renamed(each) for each in shapes] if source.renames else shapes


def _renamed(shape: KeySet) -> KeySet:
    keys = {("labels" if key in _RENAMED else key): place for key, place in shape.keys.items()}
    return KeySet(shape.made_at, keys, shape.open)


def _method(analysis: Analysis, value: Object, name: str) -> Function | None:
    return analysis.framework_runs.method(value.made, name)


def _returned(analysis: Analysis, makers: Iterable[Function | None]) -> list[KeySet]:
    """The shapes of all that some functions return; nothing where one return is anything else."""
    found: list[KeySet] = []
    for maker in makers:
        if maker is None:
            return []
        frame = analysis.evaluator.root_frame(maker)
        for result in maker.returns:
            shapes = analysis.dict_keys.of(result, frame)
            if shapes is None:
                return []
            found += shapes
    return found
