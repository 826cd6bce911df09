"""May a float16 region run on mps, xpu or npu although its scaler is for CUDA only, and off elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from verifygate import torch_names
from verifygate.sources.byte_patterns import Alternatives, whole
from verifygate.sources.tree import Sources
from verifygate.static.amp.autocast_regions import WrittenRegion
from verifygate.static.facts.devices import ANY
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.facts.region_dtypes import RegionDtypes
from verifygate.static.facts.scaler_regions import ScalerRegions, Use
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import Bound, ExternalResult, Frame

OTHERS = frozenset({"mps", "xpu", "npu", "hpu"})
"""Accelerators on which autocast computes in float16 by default; on the CPU it is bfloat16."""

_FORESEEN = Alternatives(
    "|".join(
        [
            *(whole(word) for word in ("torch_npu", "npu_available", "xpu_available", "mps_available")),
            *(rf"{base}\.(?<=\b{base}\.)(?:mps|xpu|npu|hpu)\b" for base in ("torch", "backends")),
            r"'(?:mps|xpu|npu)\b",
            r"\"(?:mps|xpu|npu)\b",
        ]
    )
)
_NOT_THERE_YET = frozenset({"AttributeError", "TypeError", "ImportError", "ModuleNotFoundError"})
_NAMES_ONE = r"\b(?:torch\.|backends\.|torch_)(?:{0})\b|\b(?:{0})_available|['\"](?:{0})\b"
_ASKS_FOR_CUDA = r"['\"]cuda['\"]|is_cuda\b|cuda\.is_available"
_TURNED_ROUND = r"\bnot\b|!=|\bnot in\b"


class Accelerators:
    """Answers for pairs of a scaler and a region that it serves."""

    def __init__(self, scaler_regions: ScalerRegions, region_dtypes: RegionDtypes, sources: Sources) -> None:
        self.scaler_regions = scaler_regions
        self.region_dtypes = region_dtypes
        self.devices = region_dtypes.devices
        self.texts = scaler_regions.texts
        self.roles = scaler_regions.roles
        self.import_graph = scaler_regions.import_graph
        self.sources = sources
        self._foreseen: dict[str, bool] = {}

    def left_alone(self, region: WrittenRegion) -> bool:
        """Whether the region may compute in float16 on an accelerator other than CUDA that the program names."""
        device = region.region.device
        if not isinstance(device, Bound) or region.region.made is None:
            return False
        types = self.devices.types(device.expr, device.frame)
        if not types & OTHERS:
            named = set(re.findall(r"\w+", self.texts.with_definitions(device.expr, device.frame)))
            if ANY not in types or named & OTHERS or not self._foresees_others(region.function):
                return False  # one that is named on the way is led elsewhere: `"cpu" if device == "mps" else device`
        if region.region.dtype is not None and Dtype.FLOAT16 not in self.region_dtypes.of(region):
            return False
        return not any(re.search(_ASKS_FOR_CUDA, text) for text in self._switches(region))

    def runs_never_on_cuda(self, region: WrittenRegion) -> bool:
        """Whether the source tells every device that a region may be for, and CUDA is none of them."""
        types = self.devices.of(region.region)
        return ANY not in types and "cuda" not in types

    def built_for_cuda_only(self, use: Use) -> bool:
        """Whether the path conditions of the scaler hold only where the device is CUDA."""
        return any(
            holds and re.search(_ASKS_FOR_CUDA, text) and not re.search(_TURNED_ROUND, text.partition(" ; ")[0])
            for text, holds in self.scaler_regions.conditions(use)
        )

    def is_for_cuda(self, use: Use) -> bool:
        """Whether the constructor is the one for CUDA: without CUDA it disables itself, with a warning.

        Not one in an `except TypeError:` for older versions of torch, whose scalers are all for CUDA.
        """
        call = use.scaler.call
        around = (each.node for each in self.texts.nesting.around(call, use.scaler.function))
        if any(isinstance(each, ast.ExceptHandler) and _is_for_an_older_torch(each) for each in around):
            return False
        name = self.roles.known_name(call.func, self._frame(use.scaler.function))
        if name not in torch_names.GRAD_SCALERS or "sharded" in name:
            return False
        if ".cuda." in name:
            return True
        given = (
            call.args[0] if call.args else next((word.value for word in call.keywords if word.arg == "device"), None)
        )
        if given is None:
            return all(word.arg for word in call.keywords)  # what is spread out may name a device
        return self.devices.types(given, self._frame(use.scaler.function)) == {"cuda"}

    def has_one_for_each(self, use: Use, region: WrittenRegion) -> bool:
        """Whether the same function builds a scaler for each other accelerator that the program names."""
        built = {ast.unparse(call) for call in use.scaler.function.calls if last_name(call.func) == "GradScaler"}
        known = OTHERS & {word for each in built for word in re.findall(r"\w+", each)}
        if not known:
            return False
        unknown = re.compile(_NAMES_ONE.format("|".join(sorted(OTHERS - known))).encode())
        files = self.sources.each(self.import_graph.together(region.function.module.path))
        return known == OTHERS or not any(unknown.search(file.data) for file in files)

    def _frame(self, function: Function) -> Frame:
        return self.roles.evaluator.root_frame(function)

    def _foresees_others(self, function: Function) -> bool:
        """Whether the program names another accelerator anywhere."""
        path = function.module.path
        if path not in self._foreseen:
            found = self.sources.each(self.import_graph.together(path))
            self._foreseen[path] = any(_FORESEEN.found_in(file.data) for file in found)
        return self._foreseen[path]

    def _switches(self, region: WrittenRegion) -> Iterator[str]:
        """The path conditions of the region and of its context, as texts with definitions."""
        with_definitions = self.texts.with_definitions
        if region.region.enabled is not None:
            yield with_definitions(region.region.enabled.expr, region.region.enabled.frame)
        places = [(region.context, region.function)]
        places += [(call, frame.function) for call, frame in self._made(region.region.made)]
        for node, function in places:
            for test, _ in self.texts.nesting.conditions(node, function):
                yield with_definitions(test, self._frame(function))

    @staticmethod
    def _made(made: ExternalResult | None) -> Iterator[tuple[ast.Call, Frame]]:
        """The calls that made the context, as nodes of the source: a partial's call is assembled from two."""
        for call, frame in made.calls if made else ():
            at = (call.lineno, call.col_offset)
            yield from (
                (node, frame)
                for node in frame.function.own_nodes
                if isinstance(node, ast.Call) and (node.lineno, node.col_offset) == at
            )


def _is_for_an_older_torch(handler: ast.ExceptHandler) -> bool:
    """Whether a handler is the fallback for a name, or an argument, that older versions of torch do not have."""
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {last_name(each) for each in caught if each is not None} <= _NOT_THERE_YET
