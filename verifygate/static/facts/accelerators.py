"""Training that may run on an accelerator other than CUDA, with a scaler that is for CUDA only."""

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
from verifygate.static.values.domain import Bound, Frame, Made

OTHERS = frozenset({"mps", "xpu", "npu", "hpu"})
"""Accelerators on which autocast computes in float16 where nobody says otherwise; on the CPU it is bfloat16."""

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
    """Answers for one scaler and one region whose losses it scales."""

    def __init__(self, scaler_regions: ScalerRegions, region_dtypes: RegionDtypes, sources: Sources) -> None:
        self.scaler_regions = scaler_regions
        self.region_dtypes = region_dtypes
        self.devices = region_dtypes.devices
        self.texts = scaler_regions.texts
        self.roles = scaler_regions.roles
        self.companions = scaler_regions.companions
        self.sources = sources
        self._foreseen: dict[str, bool] = {}

    def left_alone(self, region: WrittenRegion) -> bool:
        """Whether the region may compute in float16 on an accelerator that the program foresees and CUDA is not."""
        device = region.region.device
        if not isinstance(device, Bound) or region.region.made is None:
            return False
        types = self.devices.types(device.expr, device.frame)
        if not types & OTHERS:
            told = set(re.findall(r"\w+", self.texts.with_definitions(device.expr, device.frame)))
            if ANY not in types or told & OTHERS or not self._foresees_others(region.function):
                return False  # one that is named on the way is led elsewhere: `"cpu" if device == "mps" else device`
        if region.region.dtype is not None and Dtype.FLOAT16 not in self.region_dtypes.of(region):
            return False
        return not any(re.search(_ASKS_FOR_CUDA, text) for text in self._switches(region))

    def built_for_cuda_only(self, use: Use) -> bool:
        """Whether conditions let the scaler be built, or be on, where the device is CUDA and nowhere else."""
        return any(
            holds and re.search(_ASKS_FOR_CUDA, text) and not re.search(_TURNED_ROUND, text.partition(" ; ")[0])
            for text, holds in self.scaler_regions.conditions(use)
        )

    def is_for_cuda(self, use: Use) -> bool:
        """Whether the constructor is the one for CUDA: without CUDA it switches itself off, with a warning.

        Not one that an older torch gets, whose scalers are all for CUDA: `except TypeError:` behind another.
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
        """Whether what builds the scaler builds one for every other accelerator, too, of which the program speaks."""
        built = {ast.unparse(call) for call in use.scaler.function.calls if last_name(call.func) == "GradScaler"}
        known = OTHERS & {word for each in built for word in re.findall(r"\w+", each)}
        if not known:
            return False
        unknown = re.compile(_NAMES_ONE.format("|".join(sorted(OTHERS - known))).encode())
        files = self.sources.each(self.companions.together(region.function.module.path))
        return known == OTHERS or not any(unknown.search(file.data) for file in files)

    def _frame(self, function: Function) -> Frame:
        return self.roles.evaluator.root_frame(function)

    def _foresees_others(self, function: Function) -> bool:
        """Whether the program has anything to say about another accelerator."""
        path = function.module.path
        if path not in self._foreseen:
            found = self.sources.each(self.companions.together(path))
            self._foreseen[path] = any(_FORESEEN.found_in(file.data) for file in found)
        return self._foreseen[path]

    def _switches(self, region: WrittenRegion) -> Iterator[str]:
        """What is asked before the region is entered, or its context is made, each explained."""
        with_definitions = self.texts.with_definitions
        if region.region.enabled is not None:
            yield with_definitions(region.region.enabled.expr, region.region.enabled.frame)
        places = [(region.context, region.function)]
        places += [(call, frame.function) for call, frame in self._made(region.region.made)]
        for node, function in places:
            for test, _ in self.texts.nesting.conditions(node, function):
                yield with_definitions(test, self._frame(function))

    @staticmethod
    def _made(made: Made | None) -> Iterator[tuple[ast.Call, Frame]]:
        """The calls that made the context, as they stand in the source (a partial's is put together from two)."""
        for call, frame in made.calls if made else ():
            at = (call.lineno, call.col_offset)
            yield from (
                (node, frame)
                for node in frame.function.own_nodes
                if isinstance(node, ast.Call) and (node.lineno, node.col_offset) == at
            )


def _is_for_an_older_torch(handler: ast.ExceptHandler) -> bool:
    """Whether a handler takes the place of a name, or an argument, that torch has not had from the start."""
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {last_name(each) for each in caught if each is not None} <= _NOT_THERE_YET
