"""Calls of torch's operators on small tensors, and what dtypes came out: the measurement behind `operators.json`.

The samples are torch's own (`torch.testing._internal`), each run again with its tensors in other dtypes: without
autocast, with the CPU's for float16 and bfloat16, and with CUDA's policy on the CPU (`verifygate.instrument.cuda`).
"""

from __future__ import annotations

import inspect
import itertools
import sys
import types
import unittest
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch.overrides import get_testing_overrides

from verifygate.instrument.cuda.policy import Policy
from verifygate.static.machine.torch_library.dtypes import Kind

DTYPES = ("float16", "bfloat16", "float32", "float64", "int32", "int64", "bool", "complex64")
MIXED = ("float16", "bfloat16", "float32", "int64")
MODES = ("off", "cpu float16", "cpu bfloat16", "cuda float16", "cuda bfloat16")
FLOATING = (torch.float32, torch.float16)
MOST_SAMPLES = 5

x, w = (lambda *shape: torch.rand(*shape)), torch.nn.functional
indices = torch.tensor([[0, 1], [1, 0]])
EXTRA: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "torch.where": [((x(2, 2) > 0.5, x(2, 2), x(2, 2)), {}), ((x(2, 2) > 0.5, x(2, 2), 1.5), {})],
    "torch.dropout": [((x(2, 2), 0.5, True), {})],
    "torch.embedding": [((x(2, 2), indices), {})],
    "torch.einsum": [(("ij,jk->ik", x(2, 2), x(2, 2)), {})],
    "torch.bernoulli": [((x(2, 2),), {})],
    "torch.multinomial": [((x(2, 2), 1), {})],
    "torch.poisson": [((x(2, 2),), {})],
    "torch.max_pool1d": [((x(1, 1, 4), 2), {})],
    "torch.max_pool2d": [((x(1, 1, 4, 4), 2), {})],
    "torch.max_pool3d": [((x(1, 1, 4, 4, 4), 2), {})],
    "torch.nn.functional.max_pool1d": [((x(1, 1, 4), 2), {}), ((x(1, 1, 4), 2), {"return_indices": True})],
    "torch.nn.functional.max_pool2d": [((x(1, 1, 4, 4), 2), {}), ((x(1, 1, 4, 4), 2), {"return_indices": True})],
    "torch.nn.functional.max_pool3d": [((x(1, 1, 4, 4, 4), 2), {}), ((x(1, 1, 4, 4, 4), 2), {"return_indices": True})],
    "torch.nn.functional.adaptive_max_pool1d": [((x(1, 1, 4), 2), {}), ((x(1, 1, 4), 2), {"return_indices": True})],
    "torch.nn.functional.adaptive_max_pool2d": [
        ((x(1, 1, 4, 4), 2), {}),
        ((x(1, 1, 4, 4), 2), {"return_indices": True}),
    ],
    "torch.Tensor.is_nonzero": [((torch.rand(()),), {})],
    "torch.Tensor.index": [],
    "torch.det": [((x(2, 2),), {})],
    "torch.slogdet": [((x(2, 2),), {})],
    "torch.inverse": [((x(2, 2),), {})],
    "torch.matrix_power": [((x(2, 2), 2), {})],
    "torch.detach": [((x(2, 2),), {})],
    "torch.relu": [((x(2, 2),), {})],
    "torch.moveaxis": [((x(2, 2), 0, 1), {})],
    "torch.swapaxes": [((x(2, 2), 0, 1), {})],
    "torch.swapdims": [((x(2, 2), 0, 1), {})],
    "torch.chain_matmul": [((x(2, 2), x(2, 2), x(2, 2)), {})],
    "torch.batch_norm": [((x(3, 2), None, None, None, None, True, 0.1, 1e-5, False), {})],
    "torch.layer_norm": [((x(3, 2), (2,)), {})],
    "torch.group_norm": [((x(3, 2, 2), 1), {})],
    "torch.ctc_loss": [((x(4, 1, 3), torch.tensor([[1]]), torch.tensor([4]), torch.tensor([1])), {})],
    "torch.polygamma": [((1, x(2)), {})],
    "torch.Tensor.item": [((torch.rand(()),), {})],
    "torch.Tensor.tolist": [((x(2),), {})],
    "torch.Tensor.numpy": [((x(2),), {})],
    "torch.Tensor.backward": [],
    "torch.Tensor.copy_": [((x(2), x(2)), {})],
    "torch.Tensor.requires_grad_": [((x(2), False), {})],
    "torch.Tensor.random_": [((x(2),), {})],
    "torch.Tensor.__getitem__": [((x(2, 2), 0), {}), ((x(2, 2), indices), {}), ((x(2, 2), x(2, 2) > 0.5), {})],
    "torch.Tensor.__reversed__": [((x(2),), {})],
    "torch.Tensor.register_hook": [],
    "torch.nn.functional.dropout": [((x(2, 2), 0.5), {})],
    "torch.nn.functional.dropout1d": [((x(2, 2, 2), 0.5), {})],
    "torch.nn.functional.dropout2d": [((x(2, 2, 2, 2), 0.5), {})],
    "torch.nn.functional.dropout3d": [((x(2, 2, 2, 2, 2), 0.5), {})],
    "torch.nn.functional.alpha_dropout": [((x(2, 2), 0.5, True), {})],
    "torch.nn.functional.feature_alpha_dropout": [((x(2, 2), 0.5, True), {})],
    "torch.nn.functional.softmax": [((x(2, 2), -1), {})],
    "torch.nn.functional.log_softmax": [((x(2, 2), -1), {})],
    "torch.nn.functional.gumbel_softmax": [((x(2, 2),), {})],
    "torch.nn.functional.embedding": [((indices, x(2, 2)), {})],
    "torch.nn.functional.embedding_bag": [((indices, x(2, 2)), {})],
    "torch.nn.functional.one_hot": [((indices,), {})],
    "torch.nn.functional.fold": [((x(1, 4, 4), (3, 3), (2, 2)), {})],
    "torch.nn.functional.affine_grid": [((x(1, 2, 3), (1, 1, 2, 2)), {})],
    "torch.nn.functional.lp_pool1d": [((x(1, 1, 4), 2.0, 2), {})],
    "torch.nn.functional.lp_pool2d": [((x(1, 1, 4, 4), 2.0, 2), {})],
    "torch.nn.functional.conv_tbc": [((x(4, 1, 2), x(2, 2, 2), x(2)), {})],
    "torch.nn.functional.scaled_dot_product_attention": [((x(1, 1, 2, 4), x(1, 1, 2, 4), x(1, 1, 2, 4)), {})],
    "torch.nn.functional.multi_head_attention_forward": [
        ((x(2, 1, 2), x(2, 1, 2), x(2, 1, 2), 2, 1, x(6, 2), x(6), None, None, False, 0.0, x(2, 2), x(2)), {})
    ],
    "torch.nn.functional.binary_cross_entropy": [((x(2, 2), x(2, 2)), {})],
    "torch.nn.functional.hardsigmoid": [((x(2, 2),), {})],
    "torch.nn.functional.hardswish": [((x(2, 2),), {})],
    "torch.nn.functional.gaussian_nll_loss": [((x(2, 2), x(2, 2), x(2, 2)), {})],
    "torch.nn.functional.sigmoid": [((x(2, 2),), {})],
    "torch.nn.functional.tanh": [((x(2, 2),), {})],
    "torch.nn.utils.parameters_to_vector": [(([x(2), x(2)],), {})],
    "torch.lstm": [
        ((x(2, 1, 2), (x(1, 1, 2), x(1, 1, 2)), [x(8, 2), x(8, 2), x(8), x(8)], True, 1, 0.0, True, False, False), {})
    ],
    "torch.gru": [((x(2, 1, 2), x(1, 1, 2), [x(6, 2), x(6, 2), x(6), x(6)], True, 1, 0.0, True, False, False), {})],
    "torch.rnn_tanh": [
        ((x(2, 1, 2), x(1, 1, 2), [x(2, 2), x(2, 2), x(2), x(2)], True, 1, 0.0, True, False, False), {})
    ],
    "torch.rnn_relu": [
        ((x(2, 1, 2), x(1, 1, 2), [x(2, 2), x(2, 2), x(2), x(2)], True, 1, 0.0, True, False, False), {})
    ],
    "torch.lstm_cell": [((x(1, 2), (x(1, 2), x(1, 2)), x(8, 2), x(8, 2), x(8), x(8)), {})],
    "torch.gru_cell": [((x(1, 2), x(1, 2), x(6, 2), x(6, 2), x(6), x(6)), {})],
    "torch.rnn_tanh_cell": [((x(1, 2), x(1, 2), x(2, 2), x(2, 2), x(2), x(2)), {})],
    "torch.rnn_relu_cell": [((x(1, 2), x(1, 2), x(2, 2), x(2, 2), x(2), x(2)), {})],
}
"""Calls of operators for which torch keeps no sample under a name of their own; none: it cannot be called alone."""

NAMESPACES = {
    "torch.": torch,
    "torch.nn.functional.": torch.nn.functional,
    "torch.Tensor.": torch.Tensor,
    "torch.linalg.": torch.linalg,
    "torch.special.": torch.special,
    "torch.fft.": torch.fft,
}
LEFT_OUT = (
    "__get__",
    "data_ptr",
    "share_memory",
    "pin_memory",
    "map_",
    "map2_",
    "apply_",
    "module_load",
    "set_",
    "_sym_",
    "quantize",
    "sparse",
    "fbgemm",
    "miopen",
    "cudnn",
    "_copy",
    "mkldnn",
    "batch_norm_",
    "bessel",
    "polynomial",
)


class Sample(NamedTuple):
    """One call, its floating-point tensors in float32."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Seen(NamedTuple):
    """One run of a sample."""

    mode: str
    operands: dict[int | str, tuple[tuple[str, Kind], ...]]
    """Position or keyword -> the tensors there, and numbers."""
    results: tuple[str, ...] | None
    """Dtypes of the tensors that came out; None where it raised."""
    alone: bool
    """One tensor came out, not a tuple or list."""
    asked: str | None = None
    """The dtype that the call itself asks for."""
    given: frozenset[int | str] = frozenset()
    """Positions and keywords of arguments that are no tensors, None or False."""
    floating: frozenset[int | str] = frozenset()
    """Those at which the dtype of tensors was varied."""
    error: str = ""


def functions() -> dict[str, Callable[..., Any]]:
    """Every function and method of torch that a program may call on tensors, by the name that it is called by."""
    found: dict[str, Callable[..., Any]] = {}
    overridable = get_testing_overrides()
    for prefix, space in NAMESPACES.items():
        for name in dir(space):
            one = getattr(space, name)
            if (name.startswith("_") and prefix + name not in EXTRA) or any(word in name for word in LEFT_OUT):
                continue
            try:
                known = one in overridable
            except TypeError:
                continue
            if callable(one) and (known or prefix + name in EXTRA):
                found[prefix + name] = one
    return found


def torch_samples(wanted: frozenset[str] | None) -> dict[str, list[Sample]]:
    """torch's own samples by the operator's name, its aliases' too; of those whose last part is wanted."""
    stub = types.ModuleType("expecttest")  # a package for tests of torch itself, which keeps the samples
    stub.TestCase = unittest.TestCase  # type: ignore[attr-defined]
    sys.modules.setdefault("expecttest", stub)
    from torch.testing._internal.common_methods_invocations import op_db

    torch.backends.disable_global_flags.__globals__["__allow_nonbracketed_mutation_flag"] = True
    found: dict[str, list[Sample]] = {}
    for info in op_db:
        names = {info.name, *(alias.name for alias in info.aliases)}
        last = {name.rpartition(".")[2] for name in names}
        if any(word in info.name for word in LEFT_OUT) or (wanted is not None and wanted.isdisjoint(last)):
            continue
        dtype = torch.float32 if torch.float32 in info.dtypes else torch.int64
        try:
            samples = list(itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=False), 40))
        except Exception:  # noqa: S112 - a package that is not installed
            continue
        for name in names:
            found.setdefault(name, []).extend(_varied(samples))
    return found


def _varied(samples: list[Any]) -> list[Sample]:
    """A few of them: other keywords, other types of arguments."""
    kept: dict[Any, Sample] = {}
    for sample in samples:
        call = Sample((sample.input, *sample.args), {k: v for k, v in sample.kwargs.items() if k != "out"})
        if sum(each.numel() for _, each in _tensors(call)) > 20_000:
            continue
        shape = (tuple(_sort(each) for each in call.args), tuple(sorted((k, _sort(v)) for k, v in call.kwargs.items())))
        kept.setdefault(str(shape), call)
    return list(kept.values())[:MOST_SAMPLES]


def _sort(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"tensor {value.dtype} {value.dim() == 0}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} {[_sort(each) for each in value[:2]]}"
    return type(value).__name__


def _tensors(call: Sample) -> Iterator[tuple[int | str, torch.Tensor]]:
    for place, value in (*enumerate(call.args), *call.kwargs.items()):
        for each in _flat(value):
            if isinstance(each, torch.Tensor):
                yield place, each


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _flat(each)
    else:
        yield value


def _varied_dtypes(call: Sample) -> tuple[torch.dtype, ...]:
    """The tensors whose dtype is varied: floating-point ones, and all where a call has none."""
    return FLOATING if any(each.dtype in FLOATING for _, each in _tensors(call)) else (torch.int64,)


def _converted(call: Sample, dtypes: Iterable[str], graph: bool = False) -> Sample:
    """The call with the tensors that are varied, in their order, in these dtypes."""
    left = iter(dtypes)
    varied = _varied_dtypes(call)

    def one(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.dtype not in varied:
                return value.clone()
            result = value.detach().clone().to(getattr(torch, next(left)))
            return result.requires_grad_() if graph else result
        if isinstance(value, (list, tuple)):
            return type(value)([one(each) for each in value]) if type(value) in (list, tuple) else value
        return value

    return Sample(tuple(one(each) for each in call.args), {name: one(each) for name, each in call.kwargs.items()})


def combinations(number: int) -> Iterator[tuple[str, ...]]:
    """The dtypes that a call's floating-point tensors are given."""
    for dtype in DTYPES:
        yield (dtype,) * number
    if number > 1:
        for one, other in itertools.permutations(MIXED, 2):
            yield (one, *(other,) * (number - 1))
            if number > 2:
                yield (*(other,) * (number - 1), one)


def run(function: Callable[..., Any], call: Sample, mode: str, floating: frozenset[int | str] = frozenset()) -> Seen:
    """One call."""
    _, _, lower = mode.partition(" ")
    around = torch.autocast("cpu", getattr(torch, lower)) if lower else nullcontext()
    operands: dict[int | str, tuple[tuple[str, Kind], ...]] = {}
    given: set[int | str] = set()
    asked = None
    for place, value in (*enumerate(call.args), *call.kwargs.items()):
        found = tuple(_operand(each) for each in _flat(value) if isinstance(each, torch.Tensor))
        if found or isinstance(value, (bool, int, float, complex)):
            operands[place] = found or (_operand(value),)
        if isinstance(value, torch.dtype):
            asked = str(value).removeprefix("torch.")
        elif not found and value is not None and value is not False:
            given.add(place)
    rest = (asked, frozenset(given), floating)
    try:
        with around:
            result = function(*call.args, **call.kwargs)
    except Exception as error:
        return Seen(mode, operands, None, False, *rest, str(error))
    flat = list(_flat(list(result) if isinstance(result, Iterator) else result))
    tensors = tuple(str(each.dtype).removeprefix("torch.") for each in flat if isinstance(each, torch.Tensor))
    return Seen(mode, operands, tensors, isinstance(result, torch.Tensor), *rest)


def _operand(value: Any) -> tuple[str, Kind]:
    if isinstance(value, torch.Tensor):
        return str(value.dtype).removeprefix("torch."), Kind.TENSOR if value.dim() else Kind.ZERO_DIM
    names = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
    return names[type(value)], Kind.NUMBER


class Measured(NamedTuple):
    """All that was seen of one operator."""

    seen: list[Seen]
    view: bool
    """The result shares its storage with the first tensor, in every sample."""
    graph: bool
    """The result can be differentiated, in some sample."""


def measure(wanted: Iterable[str] | None = None) -> dict[str, Measured]:
    """Run everything, or the names that are wanted."""
    torch.manual_seed(0)
    known = functions()
    short = None if wanted is None else frozenset(name.rpartition(".")[2].removesuffix("_") for name in wanted)
    samples = torch_samples(short)
    calls: dict[str, list[Sample]] = {}
    for name in sorted(known if wanted is None else wanted):
        own = [Sample(*each) for each in EXTRA.get(name, [])]
        last = name.removeprefix("torch.").removeprefix("Tensor.")
        base = last.removesuffix("_") if name.startswith("torch.Tensor.") else last
        for key in (last, base, f"nn.functional.{base}", f"special.{base}", f"linalg.{base}", last.rpartition(".")[2]):
            own = own or samples.get(key, []) or [Sample(*each) for each in EXTRA.get(f"torch.{key}", [])]
        if own or name not in EXTRA:
            calls[name] = own or [Sample((x(2, 2),), {})]
    found: dict[str, Measured] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, own in calls.items():
            found[name] = Measured(list(_runs(known[name], own, MODES[:3])), *_traits(known[name], own))
        policy = Policy(lambda _: None)
        try:
            for name, own in calls.items():
                found[name].seen.extend(_runs(known[name], own, MODES[3:]))
        finally:
            policy.remove()
    return found


def _runs(function: Callable[..., Any], calls: list[Sample], modes: Iterable[str]) -> Iterator[Seen]:
    for call in calls:
        varied = _varied_dtypes(call)
        places = [place for place, each in _tensors(call) if each.dtype in varied]
        for dtypes in combinations(len(places)):
            for mode in modes:
                yield run(function, _converted(call, dtypes), mode, frozenset(places))


def _traits(function: Callable[..., Any], calls: list[Sample]) -> tuple[bool, bool]:
    views, graphs = [], []
    for call in calls:
        number = sum(each.dtype in _varied_dtypes(call) for _, each in _tensors(call))
        try:
            given = _converted(call, ("float32",) * number)
            first = next(each for _, each in _tensors(given))
            result = function(*given.args, **given.kwargs)
            out = [each for each in _flat(result) if isinstance(each, torch.Tensor)]
            views.append(bool(out) and all(_shared(first, each) for each in out))
            result = (given := _converted(call, ("float32",) * number, graph=True)) and function(
                *given.args, **given.kwargs
            )
            graphs.append(any(each.requires_grad for each in _flat(result) if isinstance(each, torch.Tensor)))
        except Exception:  # noqa: S112 - in-place on a leaf, a sample without tensors
            continue
    return bool(views) and all(views), any(graphs)


def _shared(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def parameters(name: str, function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that may be given by position, the receiver of a method first."""
    try:
        given = list(inspect.signature(function).parameters.values())
        found = [each.name for each in given if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
        return tuple(["input", *found[1:]] if name.startswith("torch.Tensor.") else found)
    except ValueError:
        pass
    last = name.rpartition(".")[2]
    operator = {"linalg": f"linalg_{last}", "special": f"special_{last}", "fft": f"fft_{last}"}.get(
        name.split(".")[1], last
    )
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{operator}")
    schemas = [
        each for each in schemas if each.arguments and str(each.arguments[0].type).startswith(("Tensor", "List"))
    ]
    lists = [
        [each.name for each in one.arguments if not each.kwarg_only]
        for one in schemas
        if "out" not in one.overload_name
    ]
    longest = max(lists, key=len, default=[])
    return tuple("input" if each == "self" else each for each in longest)


def has_dtype(name: str, function: Callable[..., Any]) -> bool:
    """Whether the dtype of the result can be asked for."""
    last = name.rpartition(".")[2]
    try:
        return "dtype" in inspect.signature(function).parameters
    except ValueError:
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{last}") + torch._C._jit_get_schemas_for_operator(
            f"aten::{name.removeprefix('torch.').replace('.', '_')}"
        )
        return any(each.name == "dtype" for schema in schemas for each in schema.arguments)
