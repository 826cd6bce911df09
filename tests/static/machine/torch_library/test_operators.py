"""The table of operators against the installed torch: what it says comes out, and what came out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from sampled_operators import Measured, Seen, measure

from verifygate.instrument.cuda.policy import NOT_COVERED
from verifygate.static.machine.torch_library.dtypes import Kind, Operand
from verifygate.static.machine.torch_library.operators import canonical, operator, result_dtypes
from verifygate.static.machine.torch_library.results import Autocast

COMMON = """
    torch.Tensor.add torch.mul torch.div torch.sub torch.Tensor.pow torch.matmul torch.bmm torch.einsum torch.cat
    torch.stack torch.where torch.softmax torch.nn.functional.softmax torch.sum torch.Tensor.mean torch.exp torch.log
    torch.sqrt torch.rsqrt torch.Tensor.norm torch.Tensor.max torch.argmax torch.Tensor.masked_fill torch.Tensor.view
    torch.clamp torch.Tensor.add_ torch.Tensor.mul_ torch.Tensor.copy_ torch.nn.functional.linear
    torch.nn.functional.conv2d torch.nn.functional.layer_norm torch.nn.functional.group_norm
    torch.nn.functional.embedding torch.nn.functional.gelu torch.nn.functional.dropout torch.nn.functional.relu
    torch.nn.functional.cross_entropy torch.nn.functional.mse_loss torch.nn.functional.kl_div
    torch.nn.functional.binary_cross_entropy torch.nn.functional.scaled_dot_product_attention torch.Tensor.bitwise_and
    torch.cumsum torch.nn.functional.normalize torch.nn.functional.interpolate torch.addcmul torch.cdist
""".split()  # noqa: SIM905
HEADER = Path(torch.__file__).parent / "include" / "ATen" / "autocast_mode.h"
NOT_EMULATED = {
    f"torch.{'fft.' if name.startswith('fft_') else ''}{name.removeprefix('fft_')}"
    for name in NOT_COVERED["fft"].split()
} | {"torch.Tensor.stft"}
"""What CUDA's policy on the CPU leaves as the CPU has it; `torch.fft` has no kernel for CUDA's autocast."""
LISTS = {
    Autocast.LOWER: ("AT_FORALL_LOWER_PRECISION_FP",),
    Autocast.FLOAT32: ("AT_FORALL_FP32", "AT_FORALL_FP32_SET_OPT_DTYPE"),
    Autocast.PROMOTE: ("AT_FORALL_PROMOTE",),
}


def said(name: str, one: Seen) -> tuple[frozenset[str], ...] | None:
    """What the table says of a call; None where it has nothing to say."""
    given = frozenset(place for place in one.given if isinstance(place, str))
    known = operator(name, given)
    if known is None or not known.gives_tensors:
        return None
    positional = [one.operands.get(place, ()) for place in range(20)]
    keywords = {place: operands for place, operands in one.operands.items() if isinstance(place, str)}
    operands = [
        Operand(frozenset({dtype}), kind) for each in known.operands(positional, keywords) for dtype, kind in each
    ]
    device, _, lower = one.mode.partition(" ")
    return result_dtypes(known, operands, (device, lower) if lower else None)


def compared(name: str, measured: Measured) -> tuple[int, int, list[Any]]:
    """How many results the table tells, how many it does not, and which it tells wrongly."""
    told, silent, wrong = 0, 0, []
    for one in measured.seen:
        if not one.results or one.asked is not None or (one.mode.startswith("cuda") and name in NOT_EMULATED):
            continue
        expected = said(name, one)
        if expected is None or not expected[0]:
            silent += 1
        elif expected[0] != {one.results[0]} or (not one.alone and expected[-1] - {one.results[-1]}):
            wrong.append((name, one.mode, one.operands, one.results, expected))
        else:
            told += 1
    return told, silent, wrong


def test_the_common_operators_give_what_the_table_says():
    measured = measure(COMMON)
    assert set(measured) == set(COMMON)
    for name, one in measured.items():
        told, silent, wrong = compared(name, one)
        assert not wrong[:3], name
        assert told > 10, name
        assert told > silent * (0.5 if "interpolate" in name else 20), (name, told, silent)


@pytest.mark.slow
def test_every_operator_gives_what_the_table_says():
    """All of them, in each combination of dtypes: without autocast, with the CPU's, and with CUDA's policy."""
    told, silent, wrong = 0, 0, []
    for name, one in measure().items():
        found = compared(name, one)
        told, silent, wrong = told + found[0], silent + found[1], wrong + found[2]
    assert not wrong[:5], f"{len(wrong)} are wrong"
    assert told > 100_000
    assert silent < 0.08 * told, (told, silent)


def registered(macros: tuple[str, ...]) -> set[str]:
    """The operators of autocast's lists for CUDA, in torch's own header."""
    text = HEADER.read_text()
    bodies = [re.search(rf"#define {macro}\(_\)(.*?)\n\n", text, re.DOTALL) for macro in macros]
    return {name for body in bodies if body is not None for name in re.findall(r"_\((\w+)[,)]", body[1])}


@pytest.mark.parametrize("policy", LISTS)
def test_the_policies_of_cuda_are_those_of_torch(policy: Autocast):
    """By the lists that torch compiles, and the kernels that it has registered: of each the function that it is."""
    kernels = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA")
    with_kernel = {kernel.removeprefix("aten::").partition(".")[0] for kernel in kernels}
    checked = 0
    for name in registered(LISTS[policy]):
        assert name in with_kernel
        for known in (operator(f"torch.{name}"), operator(f"torch.nn.functional.{name}")):
            if known is not None and known.cuda is not Autocast.UNKNOWN:
                assert known.cuda is policy, name
                checked += 1
    assert checked >= {Autocast.LOWER: 20, Autocast.FLOAT32: 50, Autocast.PROMOTE: 8}[policy]


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("torch.Tensor.sum", "torch.sum"),
        ("torch.Tensor.__add__", "torch.add"),
        ("torch.Tensor.__radd__", "torch.add"),
        ("torch.Tensor.__iadd__", "torch.Tensor.add_"),
        ("torch.Tensor.__matmul__", "torch.matmul"),
        ("torch.Tensor.__rtruediv__", "torch.div"),
        ("torch.functional.einsum", "torch.einsum"),
        ("torch._C._nn.gelu", "torch.nn.functional.gelu"),
        ("torch.Tensor.view", "torch.Tensor.view"),
        ("torch.special.expit", "torch.special.expit"),
        ("somebody.else.sum", "somebody.else.sum"),
    ],
)
def test_one_name_for_each_operator(name: str, plain: str):
    assert canonical(name) == plain


def test_a_division_that_rounds_keeps_integers():
    integers = [Operand(frozenset({"int64"})), Operand(frozenset({"int64"}), Kind.NUMBER)]
    plain, rounding = operator("torch.div"), operator("torch.div", frozenset({"rounding_mode"}))
    assert plain is not None
    assert rounding is not None
    assert result_dtypes(plain, integers) == (frozenset({"float32"}),)
    assert result_dtypes(rounding, integers) == (frozenset({"int64"}),)


def test_what_is_a_view_and_what_has_a_graph():
    names = ("torch.Tensor.view", "torch.Tensor.transpose", "torch.add", "torch.argmax", "torch.detach")
    traits = [(known.is_view, known.has_graph) for known in map(operator, names) if known is not None]
    assert traits == [(True, True), (True, True), (False, True), (False, False), (True, False)]


def test_arguments_that_take_part():
    where, embedding = operator("torch.where"), operator("torch.nn.functional.embedding")
    assert where is not None
    assert embedding is not None
    assert where.operands(["condition", "a"], {"other": "b"}) == ["a", "b"]
    assert embedding.operands(["indices"], {"weight": "table"}) == ["table"]
    softmax = operator("torch.softmax")
    assert softmax is not None
    assert softmax.asked_dtype(["x", -1, "float32"], {}) == "float32"
    assert softmax.asked_dtype(["x", -1], {"dtype": "float16"}) == "float16"
