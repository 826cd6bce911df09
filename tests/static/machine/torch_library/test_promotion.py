"""Promotion of dtypes, against `torch.result_type` for every pair."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import torch

from verifygate.static.machine.torch_library.dtypes import ALL, Kind, Operand, dtype_named, promote, promoted

NUMBERS: dict[str, Any] = {"bool": True, "int64": 2, "float64": 2.5, "complex128": 2j}


def real(dtype: str, kind: Kind) -> Any:
    if kind is Kind.NUMBER:
        return NUMBERS[dtype]
    return torch.empty(() if kind is Kind.ZERO_DIM else (1,), dtype=getattr(torch, dtype))


def test_every_pair_is_promoted_as_torch_promotes_it():
    operands = [(dtype, kind) for dtype in sorted(ALL) for kind in Kind if kind is not Kind.NUMBER or dtype in NUMBERS]
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for pair in itertools.product(operands, operands):
            try:
                expected = str(torch.result_type(*(real(*each) for each in pair))).removeprefix("torch.")
            except RuntimeError:
                expected = None
            if promoted(pair) != expected:
                wrong.append((pair, promoted(pair), expected))
    assert len(operands) >= 40
    assert not wrong


def test_several_possible_dtypes_give_every_result():
    found = promote([Operand(frozenset({"float16", "float32"})), Operand(frozenset({"float16"}))])
    assert found == {"float16", "float32"}
    assert promote([Operand(frozenset()), Operand(frozenset({"float16"}))]) == frozenset()


def test_names_of_dtypes():
    names = ("torch.half", "torch.float16", "torch.cuda.HalfTensor", "torch.long", "torch.sum", "numpy.float16")
    assert [dtype_named(name) for name in names] == ["float16", "float16", "float16", "int64", None, None]
