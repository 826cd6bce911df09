"""Data loaders and data sets on the machine, and functions of torch that change no dtype."""

from __future__ import annotations

from verifygate.base.records import replace
from verifygate.static.machine.call import Call, Handler, tuple_of
from verifygate.static.machine.values import (
    NONE,
    NUMBER,
    Constant,
    Container,
    Items,
    Object,
    Tensor,
    Tuple,
    Unknown,
    Value,
)

DATASET, LOADER, GENERATOR = "torch.utils.data.Dataset", "torch.utils.data.DataLoader", "torch.Generator"
_TENSORS = "torch.utils.data.TensorDataset"
_DATASETS = frozenset({_TENSORS, "torch.utils.data.IterableDataset", "torch.utils.data.Subset"})
_NUMBERS = {int: "int64", float: "float64", bool: "bool"}


def bases(name: str) -> tuple[str, ...]:
    return (DATASET,) if name in _DATASETS else ()


def _tensor_dataset(call: Call) -> Value:
    made = call.new(call.name)
    call.set(made, "tensors", tuple_of(*call.args))
    return made


def _loader(call: Call) -> Value:
    made = call.new(call.name)
    call.set(made, "dataset", call.argument(0, "dataset") or call.unknown("a loader of no data"))
    call.set(made, "#collate", call.keywords.get("collate_fn") or NONE)
    return made


def _batches(call: Call) -> Value:
    of = call.receiver
    data = call.get(of, "dataset") if isinstance(of, Object) else None
    if data is None:
        return call.unknown("the data of a loader")
    index = Unknown("an index", call.place, role=NUMBER)
    if isinstance(data, Object):
        sample = call.call_method(data, "__getitem__", (index,))
    else:
        items = call.elements(data)
        sample = items.all[0] if items.all else call.unknown("the elements of a data set")
    collate = call.get(of, "#collate") if isinstance(of, Object) else None
    if collate is not None and collate != NONE:
        return Tuple(Items(rest=call.call(collate, (call.machine.new_container("list", "batch", Items(rest=sample)),))))
    return Tuple(Items(rest=_collated(call, sample)))


def _collated(call: Call, sample: Value) -> Value:
    """What the default of a loader makes of samples: tensors are stacked, numbers become tensors."""
    if isinstance(sample, Tensor):
        return replace(sample, graph=False, is_parameter=False)
    if isinstance(sample, Constant) and sample.kind in _NUMBERS:
        return Tensor(frozenset({_NUMBERS[sample.kind]}), place=call.place)
    items = call.machine.items(sample) if isinstance(sample, Tuple | Container) else None
    if items is None or items.rest is not None:
        return sample if items is None else Unknown("a batch", call.place)
    values = tuple(_collated(call, each) for each in items.values)
    kind = sample.kind if isinstance(sample, Container) else "list"
    return call.machine.new_container(kind, (call.site, "batch", items.keys), Items(items.keys, values))


def _tree_map(call: Call) -> Value:
    """A function over all that lists, tuples and dicts hold."""
    return _mapped(call, call.args[0], call.argument(1, "tree") or NONE)


def _mapped(call: Call, function: Value, value: Value) -> Value:
    def one(atom: Value) -> Value:
        items = call.machine.items(atom) if isinstance(atom, Tuple | Container) else None
        if items is None:
            return call.call(function, (atom,))
        values = tuple(_mapped(call, function, each) for each in items.values)
        rest = None if items.rest is None else _mapped(call, function, items.rest)
        found = Items(items.keys, values, rest)
        if isinstance(atom, Container):
            return call.machine.new_container(atom.kind, (call.site, "tree", items.keys), found)
        return Tuple(found, atom.names if isinstance(atom, Tuple) else ())

    return call.machine.each_way(value, one)


def _sample(call: Call) -> Value:
    given = call.get(call.receiver, "tensors") if isinstance(call.receiver, Object) else None
    return given if given is not None else call.unknown("an element of a data set that is not known")


def _seeded(call: Call) -> Value:
    return call.receiver


def _first(call: Call) -> Value:
    return call.args[0] if call.args else NONE


def _nothing(_: Call) -> Value:
    return NONE


FUNCTIONS: dict[str, Handler] = {
    _TENSORS: _tensor_dataset,
    LOADER: _loader,
    GENERATOR: lambda call: call.new(call.name),
    "torch.utils.data.DistributedSampler": lambda call: call.new(call.name),
    "torch.utils.data.distributed.DistributedSampler": lambda call: call.new(call.name),
    "torch.utils._pytree.tree_map": _tree_map,
    "torch.get_float32_matmul_precision": lambda call: Unknown("a precision of matrix products", call.place),
    "torch.finfo": lambda call: Unknown("the limits of a dtype", call.place),
    **dict.fromkeys(
        (
            "torch.manual_seed",
            "torch.cuda.manual_seed",
            "torch.cuda.manual_seed_all",
            "torch.set_num_threads",
            "torch.cuda.set_device",
            "torch.set_float32_matmul_precision",
            "torch.cuda.empty_cache",
            "torch.cuda.synchronize",
            "torch.distributed.init_process_group",
            "torch.distributed.destroy_process_group",
            "torch.distributed.barrier",
            "torch.use_deterministic_algorithms",
            "torch.set_printoptions",
        ),
        _nothing,
    ),
}
METHODS: dict[str, dict[str, Handler]] = {
    LOADER: {"__iter__": _batches, "__len__": lambda call: Unknown("how many batches there are", call.place)},
    DATASET: {"__init__": _nothing},
    _TENSORS: {"__getitem__": _sample, "__len__": lambda call: Unknown("how many samples there are", call.place)},
    GENERATOR: {"manual_seed": _seeded, "seed": lambda call: Unknown("a seed", call.place)},
}


def function(name: str) -> Handler | None:
    if name.startswith("torch.nn.init."):
        return _first
    return FUNCTIONS.get(name)


def method(owner: str, name: str) -> Handler | None:
    return METHODS.get(owner, {}).get(name)
