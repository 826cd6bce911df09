"""Which dtypes an autocast region may compute in: the `dtype` of its context, or the default of its device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum

from verifygate.static.amp.autocast_regions import WrittenRegion, WrittenRegions
from verifygate.static.amp.roles import Region
from verifygate.static.facts.devices import ANY, Devices
from verifygate.static.facts.dtype_lattice import AUTOCAST_DEFAULTS, Dtype
from verifygate.static.facts.dtype_values import DtypeValues
from verifygate.static.syntax.traversal import is_none
from verifygate.static.values.domain import Bound, DictLiteral, dict_items

_UNKNOWN = frozenset({Dtype.UNKNOWN})


class AssumedDevice(Enum):
    """What is assumed of the device of a region that names no dtype, where the source does not tell the one device."""

    NONE = "none"
    """Nothing: the region's dtype is UNKNOWN."""
    CUDA_IF_NAMED = "CUDA, where it is one of the devices that the source names"
    """`"cuda" if torch.cuda.is_available() else "cpu"` adds FLOAT16 to UNKNOWN."""
    CUDA_IF_POSSIBLE = "CUDA, where no device is named or it is one of them"
    """A device that comes from a command line adds FLOAT16 to UNKNOWN, too."""
    CUDA = "CUDA"
    """FLOAT16 takes the place of UNKNOWN."""


class RegionDtypes:
    """Answers for the regions of one set of modules."""

    def __init__(self, regions: WrittenRegions, dtype_values: DtypeValues, devices: Devices) -> None:
        self.evaluator = regions.roles.evaluator
        self.regions = regions
        self.dtype_values = dtype_values
        self.devices = devices

    def of(
        self, region: WrittenRegion, assumed: AssumedDevice = AssumedDevice.NONE, *, reads_options: bool = True
    ) -> frozenset[Dtype]:
        """The dtypes that a region may compute in, with UNKNOWN among them where the source does not tell all.

        Without `reads_options` a dtype that is passed in `**options` does not count: the device decides then.
        """
        contexts = [self._of_context(each, reads_options) for each in _contexts(region)]
        found = frozenset().union(*contexts) or _UNKNOWN
        if Dtype.UNKNOWN not in found:
            return found
        if assumed is AssumedDevice.CUDA and (region.region.made is None or self.follows_device(region)):
            return (found - _UNKNOWN) | {Dtype.FLOAT16}
        return found | {Dtype.FLOAT16} if self._may_be_on_cuda(region, assumed) else found

    def may_be_float16(self) -> bool:
        """Whether some region that is ever on may compute in float16, wherever it runs."""
        return any(
            region.is_active and Dtype.FLOAT16 in self.of(region, AssumedDevice.CUDA_IF_POSSIBLE)
            for region in self.regions.all
        )

    def follows_device(self, region: WrittenRegion) -> bool:
        """Whether a region names no dtype, so that its device decides: float16 on CUDA, bfloat16 on a CPU."""
        contexts = _contexts(region)
        return bool(contexts) and not any(self._names_dtype(each) for each in contexts)

    def _may_be_on_cuda(self, region: WrittenRegion, assumed: AssumedDevice) -> bool:
        if assumed is AssumedDevice.NONE or not self.follows_device(region):
            return False
        possible = {"cuda", ANY} if assumed is AssumedDevice.CUDA_IF_POSSIBLE else {"cuda"}
        return not possible.isdisjoint(self.devices.of(region.region))

    def _names_dtype(self, region: Region) -> bool:
        return (region.dtype is not None and not is_none(region.dtype.expr)) or any(self._in_options(region))

    def _of_context(self, region: Region, reads_options: bool) -> frozenset[Dtype]:
        dtype = region.dtype
        if dtype is not None and not is_none(dtype.expr):
            return self.dtype_values.of(dtype.expr, dtype.frame)
        in_options = list(self._in_options(region)) if reads_options else []
        return frozenset().union(*in_options) if in_options else self._default(region)

    def _in_options(self, region: Region) -> Iterator[frozenset[Dtype]]:
        """The dtypes in each dict that a call gets as `**options`."""
        for call, frame in region.made.calls if region.made else ():
            for spread in (word.value for word in call.keywords if word.arg is None):
                for value in self.evaluator.values(spread, frame):
                    item = dict_items(value.node).get("dtype") if isinstance(value, DictLiteral) else None
                    if isinstance(value, DictLiteral) and item is not None:
                        yield self.dtype_values.of(item, value.frame)
                    else:
                        yield _UNKNOWN

    def _default(self, region: Region) -> frozenset[Dtype]:
        """The default dtype of a region's device, where the source tells the device: it is no choice of dtypes."""
        found = {AUTOCAST_DEFAULTS.get(each, Dtype.UNKNOWN) for each in self.devices.of(region)}
        if found == _UNKNOWN and _is_cuda_by_default(region.device):
            return frozenset({Dtype.FLOAT16, Dtype.UNKNOWN})
        return frozenset(found) if len(found) == 1 else _UNKNOWN


def _is_cuda_by_default(device: Bound | str | None) -> bool:
    """Whether a device is a parameter of the function at hand whose default is CUDA."""
    if not isinstance(device, Bound) or not isinstance(device.expr, ast.Name):
        return False
    function = device.frame.function
    if len(function.scope.names.get(device.expr.id, ())) != 1:
        return False
    default = function.default(device.expr.id)
    return isinstance(default, ast.Constant) and str(default.value).partition(":")[0] == "cuda"


def _contexts(region: WrittenRegion) -> list[Region]:
    """The contexts that a region may enter, each as if it were the only one."""
    made = region.region.made
    return [] if made is None else [Region(True, made=each) for each in (made, *region.region.instead)]
