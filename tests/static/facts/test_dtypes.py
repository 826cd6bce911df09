"""The dtype lattice, the dtypes of expressions and of regions, constant folding, and what conditions say of a dtype."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable

import pytest

from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.analysis import Analysis
from verifygate.static.facts import dtype_predicates
from verifygate.static.facts.devices import ANY
from verifygate.static.facts.dtype_lattice import HALVES, Dtype, join, named, promote
from verifygate.static.facts.region_dtypes import AssumedDevice
from verifygate.static.facts.tensor_dtypes import NOTHING, UNKNOWN_LAYERS, UNKNOWN_SIGMOIDS, Assumptions
from verifygate.static.symbols.program import Function
from verifygate.static.values.domain import Frame

FLOAT16, BFLOAT16, HALF = Dtype.FLOAT16, Dtype.BFLOAT16, Dtype.HALF
FLOAT32, FLOAT64, OTHER = Dtype.FLOAT32, Dtype.FLOAT64, Dtype.OTHER
NUMBER, UNKNOWN = Dtype.PYTHON_NUMBER, Dtype.UNKNOWN


Analysed = Callable[[str], Analysis]


def function_of(analysis: Analysis, name: str) -> Function:
    (module,) = analysis.modules
    return module.functions[name]


def returned(analysis: Analysis, name: str) -> tuple[ast.expr, Frame]:
    """What the one `return` of a function gives, and the frame to evaluate it in."""
    function = function_of(analysis, name)
    (result,) = function.returns
    return result, analysis.evaluator.root_frame(function)


# -- the lattice ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        ((), UNKNOWN),
        ((FLOAT16,), FLOAT16),
        ((FLOAT16, BFLOAT16), HALF),
        ((FLOAT16, HALF), HALF),
        ((FLOAT32, FLOAT64), OTHER),
        ((FLOAT32, OTHER), OTHER),
        ((FLOAT16, FLOAT32), UNKNOWN),
        ((HALF, OTHER), UNKNOWN),
        ((NUMBER, FLOAT32), UNKNOWN),
        ((NUMBER, NUMBER), NUMBER),
        ((FLOAT16, UNKNOWN), UNKNOWN),
    ],
)
def test_join(dtypes: tuple[Dtype, ...], expected: Dtype) -> None:
    assert join(dtypes) is expected


def test_join_is_the_least_upper_bound_of_a_semilattice() -> None:
    for one, other, third in itertools.product(Dtype, repeat=3):
        assert join((one, one)) is one
        assert join((one, other)) is join((other, one))
        assert join((join((one, other)), third)) is join((one, join((other, third)))) is join((one, other, third))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (NUMBER, NUMBER, NUMBER),
        (NUMBER, HALF, HALF),
        (NUMBER, FLOAT32, FLOAT32),
        (NUMBER, UNKNOWN, UNKNOWN),
        (HALF, HALF, HALF),
        (HALF, FLOAT32, FLOAT32),
        (HALF, UNKNOWN, UNKNOWN),
        (HALF, OTHER, UNKNOWN),
        (FLOAT16, FLOAT16, FLOAT16),
        (FLOAT16, BFLOAT16, FLOAT32),
        (FLOAT16, HALF, UNKNOWN),
        (FLOAT32, UNKNOWN, FLOAT32),
        (FLOAT32, FLOAT64, FLOAT64),
        (FLOAT64, UNKNOWN, FLOAT64),
        (UNKNOWN, UNKNOWN, UNKNOWN),
    ],
)
def test_promotion(one: Dtype, other: Dtype, expected: Dtype) -> None:
    assert promote(one, other) is promote(other, one) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch.half", FLOAT16),
        ("torch.bfloat16", BFLOAT16),
        ("torch.float", FLOAT32),
        ("torch.int64", OTHER),
        ("numpy.float16", UNKNOWN),
    ],
)
def test_names_of_dtypes(name: str, expected: Dtype) -> None:
    assert named(name) is expected


# -- expressions ---------------------------------------------------------------------------------------------------

MODEL = """
import math
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.head = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.scores = nn.Sequential(nn.Linear(4, 4), nn.Softmax(-1))
        self.made = make()
        self.final_norm = make()

    def forward(self, x, q, k, mask, d):
        scores = q @ k
        total = scores.sum(-1)
        scaled = scores
        scaled *= x
        late = x
        late = (q * k).sum(-1)
        running = 0
        running = running + self.fc(x)
        mixed = q @ k
        if d:
            mixed = x
        height, width = x.shape
        return {expression}


def project(x):
    return x @ x.T


def unknown_to(x):
    return x
"""


def dtype_of(analysed: Analysed, expression: str, assume: Assumptions = NOTHING) -> Dtype:
    analysis = analysed(MODEL.replace("{expression}", expression))
    return analysis.tensor_dtypes.of(*returned(analysis, "Model.forward"), assume)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # what the source says of itself
        ("x", UNKNOWN),
        ("2.0", NUMBER),
        ("math.sqrt(4)", NUMBER),
        ("2**3", NUMBER),
        ("d // 2", NUMBER),
        ("x.shape[0]", NUMBER),
        ("x.size(0)", NUMBER),
        ("width", NUMBER),
        ("self.scale", NUMBER),
        # operators that run in half precision
        ("q @ k", HALF),
        ("torch.bmm(q, k)", HALF),
        ("q.matmul(k)", HALF),
        ("self.fc(x)", HALF),
        ("self.head(x)", HALF),
        ("self.scores(x)", UNKNOWN),
        # operators that run in float32
        ("torch.softmax(q @ k, -1)", FLOAT32),
        ("(q @ k).sum(-1)", FLOAT32),
        ("(q @ k) ** 2", FLOAT32),
        # operators that keep the dtype
        ("torch.relu(q @ k)", HALF),
        ("(q @ k).view(-1).clamp(min=0)", HALF),
        ("scores.T[0]", HALF),
        ("-scores", HALF),
        ("x.view(-1)", UNKNOWN),
        ("total.view(-1)", FLOAT32),
        # promotion
        ("(q @ k) / math.sqrt(d)", HALF),
        ("(q @ k) + self.fc(x)", HALF),
        ("(q @ k) + x", UNKNOWN),
        ("(q @ k) + total", FLOAT32),
        ("total + x", FLOAT32),
        # names
        ("scores", HALF),
        ("total", FLOAT32),
        ("scaled", HALF),
        ("running", HALF),
        ("mixed", UNKNOWN),
        # what no assumption helps out
        ("torch.sigmoid(x)", UNKNOWN),
        ("self.made(x)", UNKNOWN),
        ("project(x)", UNKNOWN),
        ("scores if d else x", UNKNOWN),
    ],
)
def test_dtype_of_an_expression(expression: str, expected: Dtype, analysed: Analysed) -> None:
    assert dtype_of(analysed, expression) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("torch.sigmoid(x)", HALF),
        ("x.sigmoid().clamp(min=0)", HALF),
        ("torch.sigmoid(x.float())", FLOAT32),
        ("torch.sigmoid((q * k).sum(-1))", FLOAT32),
        ("torch.sigmoid(total - (q * x).sum(-1))", FLOAT32),
        ("torch.sigmoid(late)", FLOAT32),  # the last definition decides
        ("torch.sigmoid(x) if d else x", HALF),
        ("mixed", HALF),
        ("project(x)", HALF),
        ("unknown_to(x)", UNKNOWN),
        ("self.made(x)", UNKNOWN),
    ],
)
def test_dtype_where_unknown_sigmoids_are_half(expression: str, expected: Dtype, analysed: Analysed) -> None:
    assert dtype_of(analysed, expression, UNKNOWN_SIGMOIDS) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("self.made(x)", HALF),
        ("self.final_norm(x)", UNKNOWN),
        ("mixed", HALF),
        ("project(x)", HALF),
        ("unknown_to(x)", UNKNOWN),
        ("torch.sigmoid(x)", UNKNOWN),
    ],
)
def test_dtype_where_unknown_layers_are_half(expression: str, expected: Dtype, analysed: Analysed) -> None:
    assert dtype_of(analysed, expression, UNKNOWN_LAYERS) is expected


def test_a_parameter_has_the_dtype_of_the_argument(analysed: Analysed) -> None:
    analysis = analysed(
        """
        import torch

        def clipped(probabilities):
            return probabilities

        def loss(q, k):
            return clipped(q @ k)
        """
    )
    result, frame = returned(analysis, "clipped")
    assert analysis.tensor_dtypes.of(result, frame) is UNKNOWN
    ((_, entered),) = analysis.call_graph.entries(function_of(analysis, "clipped"))
    assert analysis.tensor_dtypes.of(result, entered) is HALF
    assert analysis.tensor_dtypes.is_half(result, entered)


# -- constants -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1e-8", 1e-8),
        ("-65504", -65504.0),
        ("1 - 1e-3", 0.999),
        ("10**-8", None),
        ("2.0**16", 65536.0),
        ("float(EPS)", 1e-6),
        ("Loss().eps", 1e-5),
        ("Loss().changed", None),
        ("True", None),
        ("x", None),
        ("LOOP", None),
    ],
)
def test_numbers(expression: str, expected: float | None, analysed: Analysed) -> None:
    analysis = analysed(
        f"""
        EPS = 1e-6
        LOOP = LOOP + 1

        class Loss:
            eps = 1e-5
            changed = 1
            changed = 2

        def f(x):
            return {expression}
        """
    )
    assert analysis.constants.number(*returned(analysis, "f")) == expected


# -- dtypes that an expression stands for --------------------------------------------------------------------------

DTYPES = """
import argparse
import dataclasses
import torch

TABLE = {"fp16": torch.float16, "bf16": torch.bfloat16}

parser = argparse.ArgumentParser()
parser.add_argument("-d", "--data-type", choices=["float16", "float32"])
args = parser.parse_args()


@dataclasses.dataclass
class Settings:
    dtype: torch.dtype
    other: torch.dtype


class Trainer:
    def __init__(self):
        self.dtype = torch.bfloat16


def with_default(default_dtype=None):
    return default_dtype


with_default(torch.half)
with_default()


def f(name, trainer: Trainer, settings: Settings, amp_dtype, given):
    supported = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return EXPRESSION


f("fp16", Trainer(), Settings(torch.float16, torch.float16), torch.half, torch.half)
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("torch.float16", {FLOAT16}),
        ("torch.float32", {FLOAT32}),
        ("torch.int8", {OTHER}),
        ("None", {UNKNOWN}),
        ("name", {UNKNOWN}),
        ("torch.bfloat16 if name else torch.float16", {FLOAT16, BFLOAT16}),
        ("torch.bfloat16 if name else None", {UNKNOWN, BFLOAT16}),
        ("supported", {FLOAT16, BFLOAT16}),
        ("TABLE[name]", {FLOAT16, BFLOAT16}),
        ("TABLE.get(name)", {FLOAT16, BFLOAT16}),
        ("getattr(torch, args.data_type)", {FLOAT16, FLOAT32}),
        ("getattr(torch, name)", {UNKNOWN}),
        ("trainer.dtype", {BFLOAT16}),
        ("settings.dtype", {FLOAT16}),
        ("settings.other", {UNKNOWN}),
        ("amp_dtype", {FLOAT16}),
        ("given", {FLOAT16, UNKNOWN}),  # a name that says nothing of dtypes may be passed anything else
    ],
)
def test_dtypes_that_an_expression_stands_for(expression: str, expected: set[Dtype], analysed: Analysed) -> None:
    analysis = analysed(DTYPES.replace("EXPRESSION", expression))
    assert analysis.dtype_values.of(*returned(analysis, "f")) == expected


def test_a_parameter_that_a_call_leaves_to_its_default_is_unknown(analysed: Analysed) -> None:
    analysis = analysed(DTYPES.replace("EXPRESSION", "None"))
    assert UNKNOWN in analysis.dtype_values.of(*returned(analysis, "with_default"))


# -- regions -------------------------------------------------------------------------------------------------------


def with_region(analysed: Analysed, context: str) -> tuple[Analysis, WrittenRegion]:
    analysis = analysed(
        f"""
        import torch

        TABLE = {{"fp16": torch.float16, "bf16": torch.bfloat16}}
        OPTIONS = {{"dtype": torch.bfloat16}}
        EMPTY = {{"enabled": True}}
        gpu = torch.device("cuda:0")
        either = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        def train(x, device, kind, where="cuda"):
            dtype = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
            with {context}:
                model(x)
        """
    )
    (region,) = analysis.written_regions.all
    return analysis, region


def region_dtypes(
    analysed: Analysed, context: str, assumed: AssumedDevice = AssumedDevice.NONE, *, options: bool = True
) -> set[Dtype]:
    analysis, region = with_region(analysed, context)
    return set(analysis.region_dtypes.of(region, assumed, reads_options=options))


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("torch.autocast('cuda')", {FLOAT16}),
        ("torch.cuda.amp.autocast()", {FLOAT16}),
        ("torch.autocast('cuda:1')", {FLOAT16}),
        ("torch.autocast('mps')", {FLOAT16}),
        ("torch.autocast('cpu')", {BFLOAT16}),
        ("torch.cpu.amp.autocast()", {BFLOAT16}),
        ("torch.autocast('cuda', dtype=None)", {FLOAT16}),
        ("torch.autocast('cuda', torch.bfloat16)", {BFLOAT16}),
        ("torch.autocast('cuda', dtype=torch.half)", {FLOAT16}),
        ("torch.autocast('cuda', dtype=torch.float32)", {FLOAT32}),
        ("torch.autocast('cuda', dtype=dtype)", {FLOAT16, BFLOAT16}),
        ("torch.autocast('cuda', dtype=TABLE[kind])", {FLOAT16, BFLOAT16}),
        ("torch.autocast('cuda', dtype=kind)", {UNKNOWN}),
        ("torch.autocast('cuda') if kind else torch.autocast('cuda', torch.bfloat16)", {FLOAT16, BFLOAT16}),
        ("torch.autocast('cuda', **OPTIONS)", {BFLOAT16}),
        ("torch.autocast('cuda', **EMPTY)", {UNKNOWN}),
        ("torch.autocast(gpu.type)", {FLOAT16}),
        ("torch.autocast(device)", {UNKNOWN}),
        ("torch.autocast('cuda' if kind else 'cpu')", {UNKNOWN}),
        ("torch.autocast(where)", {FLOAT16, UNKNOWN}),
        ("kind.autocast()", {UNKNOWN}),
    ],
)
def test_dtypes_of_a_region(context: str, expected: set[Dtype], analysed: Analysed) -> None:
    assert region_dtypes(analysed, context) == expected


@pytest.mark.parametrize(
    ("context", "named_only", "possible", "cuda"),
    [
        ("torch.autocast('cuda' if kind else 'cpu')", {FLOAT16, UNKNOWN}, {FLOAT16, UNKNOWN}, {FLOAT16}),
        ("torch.autocast(either.type)", {FLOAT16, UNKNOWN}, {FLOAT16, UNKNOWN}, {FLOAT16}),
        ("torch.autocast(device)", {UNKNOWN}, {FLOAT16, UNKNOWN}, {FLOAT16}),
        ("torch.autocast(where)", {FLOAT16, UNKNOWN}, {FLOAT16, UNKNOWN}, {FLOAT16}),
        ("kind.autocast()", {UNKNOWN}, {UNKNOWN}, {FLOAT16}),
        # a dtype that is named, or a device that is told, leaves nothing to assume
        ("torch.autocast(device, dtype=kind)", {UNKNOWN}, {UNKNOWN}, {UNKNOWN}),
        ("torch.autocast('cpu')", {BFLOAT16}, {BFLOAT16}, {BFLOAT16}),
    ],
)
def test_dtypes_of_a_region_by_what_is_assumed_of_its_device(
    context: str, named_only: set[Dtype], possible: set[Dtype], cuda: set[Dtype], analysed: Analysed
) -> None:
    assert region_dtypes(analysed, context, AssumedDevice.CUDA_IF_NAMED) == named_only
    assert region_dtypes(analysed, context, AssumedDevice.CUDA_IF_POSSIBLE) == possible
    assert region_dtypes(analysed, context, AssumedDevice.CUDA) == cuda


def test_options_of_a_region_are_read_but_where_they_are_not_to_be(analysed: Analysed) -> None:
    assert region_dtypes(analysed, "torch.autocast('cuda', **OPTIONS)") == {BFLOAT16}
    assert region_dtypes(analysed, "torch.autocast('cuda', **OPTIONS)", options=False) == {FLOAT16}


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("torch.autocast('cuda:1')", {"cuda"}),
        ("torch.cpu.amp.autocast()", {"cpu"}),
        ("torch.autocast(gpu.type)", {"cuda"}),
        ("torch.autocast(either.type)", {"cuda", "cpu"}),
        ("torch.autocast('mps' if kind else device)", {"mps", ANY}),
        ("torch.autocast(kind.get('device', 'cpu'))", {"cpu", ANY}),
        ("kind.autocast()", {ANY}),
    ],
)
def test_devices_of_a_region(context: str, expected: set[str], analysed: Analysed) -> None:
    analysis, region = with_region(analysed, context)
    assert analysis.devices.of(region.region) == expected


def test_halves() -> None:
    assert {each for each in Dtype if join((each, HALF)) is HALF} == HALVES


# -- conditions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "holds", "expected"),
    [
        ("args.bf16", True, {"mentions_dtype", "requires_bfloat16"}),
        ("args.bf16", False, {"mentions_dtype"}),
        ("not args.bf16", True, {"mentions_dtype"}),
        ("dtype == torch.float16", True, {"mentions_dtype", "requires_float16"}),
        ("use_fp16 or use_bf16", True, {"mentions_dtype", "offers_bfloat16"}),
        ("dtype in ('fp16', 'bf16')", True, {"mentions_dtype", "allows_bfloat16"}),
        ("dtype not in ('fp16', 'bf16')", True, {"mentions_dtype"}),
        ("args.dtype != 'float32'", True, {"mentions_dtype", "allows_bfloat16"}),
        ("args.dtype == 'float32'", False, {"mentions_dtype", "allows_bfloat16"}),
        ("args.dtype == 'float32'", True, {"mentions_dtype"}),
        ("use_amp", True, set()),
        ("use_amp ; args.bf16", True, {"mentions_dtype"}),
    ],
)
def test_what_a_condition_says_of_the_dtype(text: str, holds: bool, expected: set[str]) -> None:
    ones = ("requires_bfloat16", "requires_float16", "offers_bfloat16", "allows_bfloat16")
    found = {name for name in ones if getattr(dtype_predicates, name)(text, holds)}
    assert found | ({"mentions_dtype"} if dtype_predicates.mentions_dtype(text) else set()) == expected


@pytest.mark.parametrize(
    ("test", "holds", "expected"),
    [
        ("dtype == torch.bfloat16", False, True),
        ("dtype == torch.bfloat16", True, False),
        ("dtype != torch.bfloat16", True, True),
        ("dtype == torch.float16", True, True),
        ("dtype in (torch.float16, torch.bfloat16)", False, False),
        ("use_amp", True, False),
    ],
)
def test_a_branch_that_bfloat16_does_not_take(test: str, holds: bool, expected: bool) -> None:
    assert dtype_predicates.excludes_bfloat16(ast.parse(test, mode="eval").body, holds) is expected


CONDITIONS = """
import torch

class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg

    def train(self, x):
        cfg = self.cfg
        use_amp = cfg.precision == "bf16"
        scale_it(use_amp)
        if CONDITION:
            return x

def scale_it(on):
    if on:
        return 1
"""


@pytest.mark.parametrize(
    ("condition", "with_definitions", "with_copies_propagated"),
    [
        ("use_amp", "use_amp ; cfg.precision == 'bf16' ; self.cfg ; cfg", "use_amp"),
        ("cfg.amp", "cfg.amp ; self.cfg ; cfg", "self.cfg.amp"),
    ],
)
def test_a_condition_as_a_text(
    condition: str, with_definitions: str, with_copies_propagated: str, analysed: Analysed
) -> None:
    analysis = analysed(CONDITIONS.replace("CONDITION", condition))
    function = function_of(analysis, "Trainer.train")
    (branch,) = function.of_kind(ast.If)
    frame = analysis.evaluator.root_frame(function)
    assert isinstance(branch, ast.If)
    assert analysis.condition_texts.with_definitions(branch.test, frame) == with_definitions
    assert analysis.condition_texts.with_copies_propagated(branch.test, frame) == with_copies_propagated


def test_the_definition_of_a_parameter_is_the_argument(analysed: Analysed) -> None:
    analysis = analysed(CONDITIONS.replace("CONDITION", "x"))
    function = function_of(analysis, "scale_it")
    (branch,) = function.of_kind(ast.If)
    text = analysis.condition_texts.with_definitions(branch.test, analysis.evaluator.root_frame(function))
    assert text.startswith("on ; use_amp ; cfg.precision == 'bf16'")


# -- which regions a scaler serves ---------------------------------------------------------------------------------


def test_a_scaler_serves_the_regions_of_its_own_object(analysed: Analysed) -> None:
    analysis = analysed(
        """
        import torch

        class Trainer:
            def __init__(self, model):
                self.model = model
                self.scaler = torch.amp.GradScaler("cuda")

            def step(self, x):
                with torch.autocast("cuda"):
                    loss = self.model(x)
                self.scaler.scale(loss).backward()

            def evaluate(self, x):
                with torch.autocast("cuda"):
                    return self.model(x)

        class Other:
            def step(self, x, scaler):
                with torch.autocast("cuda"):
                    loss = x.mean()
                scaler.scale(loss).backward()
        """
    )
    (scaler,) = analysis.scaler_allocations
    (use,) = analysis.scaler_regions.uses(scaler)
    assert [region.function.symbol for region in use.regions] == ["Trainer.step"]


def test_the_uses_of_a_wrapper_are_where_its_objects_are_made(analysed: Analysed) -> None:
    analysis = analysed(
        """
        import torch

        class LossScaler:
            def __init__(self, fp16):
                self.scaler = torch.amp.GradScaler("cuda", enabled=fp16)

            def backward(self, loss):
                self.scaler.scale(loss).backward()

        def train(model, x, args):
            if args.amp:
                loss_scaler = LossScaler(args.fp16)
            with torch.autocast("cuda"):
                loss = model(x)
            loss_scaler.backward(loss)
        """
    )
    (scaler,) = analysis.scaler_allocations
    (use,) = analysis.scaler_regions.uses(scaler)
    assert (use.function.symbol, use.call.lineno) == ("train", 13)
    assert [region.function.symbol for region in use.regions] == ["train"]
    assert analysis.scaler_regions.conditions(use) == [("fp16 ; args.fp16", True), ("args.amp", True)]
