"""torch's operators: under which names they go, and which dtypes come out of them.

`operators.json` has a row for each way in which operators behave: how the dtypes of the results come about, which
arguments take part, what autocast does on a CPU and on CUDA, and whether the result is a view, or has a graph.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import TypeVar

from verifygate.base.records import record
from verifygate.static.machine.torch_library.dtypes import FLOATS, Dtypes, Kind, Operand, each_combination
from verifygate.static.machine.torch_library.results import Autocast, result_of, under

T = TypeVar("T")

_PREFIXES = {
    "torch.functional.": "torch.",
    "torch._C._nn.": "torch.nn.functional.",
    "torch._C._linalg.linalg_": "torch.linalg.",
    "torch._C._special.special_": "torch.special.",
    "torch._C._fft.fft_": "torch.fft.",
    "torch._C._VariableFunctions.": "torch.",
    "torch._C.TensorBase.": "torch.Tensor.",
    "torch.FloatTensor.": "torch.Tensor.",
    "torch.nn.Parameter.": "torch.Tensor.",
    "torch.nn.parameter.Parameter.": "torch.Tensor.",
}
_DUNDERS = {
    "pos": "positive",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "invert": "bitwise_not",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    **{name: name for name in ("add", "sub", "mul", "matmul", "pow", "neg", "abs", "eq", "ne", "lt", "le", "gt", "ge")},
}
"""`__and__` of a tensor -> the function of torch that it is; `__rand__` and `__iand__` go by the same."""


@record(eq=False)
class Operator:
    """A function of torch on tensors, or a method of one. There is one object for each row and name."""

    name: str
    """Canonical: `torch.sum` for the method too, where torch has both."""
    results: tuple[str, ...]
    """For each tensor that comes out a rule of `Result`, or a dtype; the last one holds for all further ones."""
    places: tuple[tuple[int, str], ...]
    """Position and name of the arguments that take part in the dtype; `*` for all from there on."""
    cpu: Autocast
    cuda: Autocast
    is_view: bool = False
    """The result may share the memory of the first operand."""
    has_graph: bool = False
    """Autograd can go back through it."""
    several: str = "never"
    """When a tuple or list comes out: never, always, or where the argument of that name is given."""
    dtype_position: int | None = None
    """Where `dtype` stands among the arguments; None: by keyword only."""
    takes_dtype: bool = False
    numbers: bool = True
    """Numbers of Python at these places take part too."""
    same: bool = False
    """It refuses tensors of different floating-point dtypes, so that one that is known tells of all."""
    floats_only: bool = False
    """What comes of integers and complex tensors is not known."""

    @property
    def in_place(self) -> bool:
        """Whether it writes into its first operand."""
        return self.name.endswith("_") and not self.name.endswith("__")

    @property
    def gives_tensors(self) -> bool:
        return bool(self.results)

    def autocast(self, device: str) -> Autocast:
        """The policy of a region of that device type. XPU and other accelerators follow CUDA's."""
        return self.cpu if device == "cpu" else self.cuda

    def operands(self, positional: Sequence[T], keywords: Mapping[str, T]) -> list[T]:
        """The arguments that take part, of a call; the receiver of a method is the first one."""
        found: list[T] = []
        for position, name in self.places:
            if name == "*":
                found.extend(positional[position:])
            elif name in keywords:
                found.append(keywords[name])
            elif 0 <= position < len(positional):
                found.append(positional[position])
        return found

    def asked_dtype(self, positional: Sequence[T], keywords: Mapping[str, T]) -> T | None:
        """The argument that says the dtype of the result, if there is one."""
        if not self.takes_dtype:
            return None
        position = self.dtype_position
        in_place = position is not None and position < len(positional)
        return positional[position] if in_place and position is not None else keywords.get("dtype")


@lru_cache(maxsize=5_000)
def operator(name: str, keywords: frozenset[str] = frozenset()) -> Operator | None:
    """The operator of that name; None for what is none, or is not known.

    Args:
        name: Any name that it goes by: `torch.Tensor.__radd__`, `torch.functional.einsum`.
        keywords: Names of the arguments of the call that are neither None nor False: with `rounding_mode`,
            a division of integers gives integers.
    """
    found = canonical(name)
    for keyword in sorted(keywords):
        if (row := _rows().get(f"{found}[{keyword}]")) is not None:
            return _read(found, row)
    row = _rows().get(found)
    return None if row is None else _read(found, row)


@cache
def canonical(name: str) -> str:
    """The one name of an operator that goes by several; a name that is not known stays as it is."""
    for prefix, plain in _PREFIXES.items():
        if name.startswith(prefix):
            name = plain + name.removeprefix(prefix)
            break
    rows = _rows()
    space, _, last = name.rpartition(".")
    if space == "torch.Tensor":
        if last.startswith("__") and last not in ("__getitem__", "__setitem__", "__reversed__"):
            word = last.strip("_")
            plain = next((_DUNDERS[each] for each in (word, word[1:]) if each in _DUNDERS), "")
            if not plain:
                return name
            in_place = word not in _DUNDERS and word.startswith("i")
            last = f"{plain}_" if in_place else plain
            name = f"torch.Tensor.{last}"
        plain = f"torch.{last}"
        return plain if plain in rows and rows.get(name, rows[plain]) == rows[plain] else name
    short = f"torch.{last}"
    same = space in ("torch.special", "torch.linalg", "torch.nn.functional") and name in rows
    return short if same and short in rows and rows[short] == rows[name] else name


def result_dtypes(
    operator: Operator,
    operands: Sequence[Operand],
    region: tuple[str, str] | None = None,
    default: str = "float32",
) -> tuple[Dtypes, ...]:
    """The dtypes that each result may have, by the rules of the operator; empty for one that is not known.

    Args:
        operands: What takes part, in order (`Operator.operands`), lists of tensors laid out flat.
        region: Device type and dtype of the autocast region that is on for the operands' device; None outside.
        default: What `torch.get_default_dtype()` is.
    """
    return _result_dtypes(operator, tuple(operands), region, default)


@lru_cache(maxsize=20_000)
def _result_dtypes(
    operator: Operator, operands: tuple[Operand, ...], region: tuple[str, str] | None, default: str
) -> tuple[Dtypes, ...]:
    policy = operator.autocast(region[0]) if region is not None else Autocast.KEEP
    if policy is Autocast.UNKNOWN:
        return (frozenset(),) * len(operator.results)
    lower = region[1] if region is not None else None
    taking = [each for each in operands if operator.numbers or each.kind is not Kind.NUMBER]
    if operator.same:
        taking = [each for each in taking if each.dtypes] or taking

    def by(rule: str) -> Callable[[Sequence[tuple[str, Kind]]], str | None]:
        def result(chosen: Sequence[tuple[str, Kind]]) -> str | None:
            tensors = [dtype for dtype, kind in chosen if kind is not Kind.NUMBER]
            if operator.floats_only and not FLOATS.issuperset(tensors):
                return None
            return result_of(rule, under(policy, lower, chosen), default)

        return result

    rules = operator.results
    return tuple(each_combination(taking, by(rule)) if rule != "unknown" else frozenset() for rule in rules)


@cache
def _rows() -> dict[str, str]:
    """Name -> what it says of it."""
    text = (files(__package__) / "operators.json").read_text(encoding="utf-8")
    return {name: row for row, names in json.loads(text)["rows"].items() for name in names.split()}


@cache
def _read(name: str, row: str) -> Operator:
    """A row of the table: `promoted,int64 | 0:input | keep float32 | graph several=dim`."""
    if row == "python":
        return Operator(name, (), (), Autocast.KEEP, Autocast.KEEP)
    results, places, policies, flags = (part.split() for part in row.split(" | "))
    cpu, cuda = policies
    values = dict(flag.partition("=")[::2] for flag in flags)
    position = values.get("dtype")
    return Operator(
        name,
        tuple(results[0].split(",")),
        tuple(_place(each) for each in places),
        Autocast(cpu),
        Autocast(cuda),
        is_view="view" in values,
        has_graph="graph" in values,
        several=values.get("several", "never"),
        dtype_position=int(position) if position else None,
        takes_dtype=position is not None,
        numbers="no_numbers" not in values,
        same="same" in values,
        floats_only="floats" in values,
    )


def _place(text: str) -> tuple[int, str]:
    position, _, name = text.partition(":")
    return (-1 if position == "-" else int(position)), name
