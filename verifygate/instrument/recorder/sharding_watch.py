"""Watch FSDP2: which weights are sharded by which policy, and in which dtype ranks add up their gradients."""

from __future__ import annotations

import inspect
import sys
import weakref
from typing import Any

from ..launch import when_imported
from ..patching.wrapping import After
from .low_precision import LOW
from .recording import Arguments, Keywords, Recording, argument

_GROUPS = "torch.distributed.fsdp._fully_shard._fsdp_param_group"


class ShardingWatch:
    """Tells of each group of parameters that is sharded in half or by a policy in half, and of its first half sum."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._sharded: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        """Parameter of a group whose sums are not told yet -> the event that tells of its sharding."""
        self._places: list[str] = []
        """The names of what torch's sum of gradients is given, in their order."""

    def patch(self) -> None:
        """Put the watch around what shards, once the project has imported it."""
        when_imported(_GROUPS, self._around_groups)

    def _around_groups(self) -> None:
        groups: Any = sys.modules[_GROUPS]
        self._places = list(inspect.signature(groups.foreach_reduce).parameters)
        self._recording.around(groups.FSDPParamGroup, "__init__", self._made)
        self._recording.around(groups, "foreach_reduce", self._reduced)

    def _made(self, arguments: Arguments, _keywords: Keywords) -> After:
        def after(_result: object, raised: BaseException | None) -> None:
            if raised is not None:
                return
            trained = [each for each in arguments[0].fsdp_params if each.sharded_param.requires_grad]
            asked = arguments[0].mp_policy
            dtypes = {each.sharded_param.dtype for each in trained}
            if len(dtypes) == 1 and not dtypes.union((asked.param_dtype, asked.reduce_dtype)).isdisjoint(LOW):
                number = self._recording.tell(
                    "sharded", dtype=_name(dtypes.pop()), policy=_name(asked.param_dtype), tensors=len(trained)
                )
                self._sharded.update(dict.fromkeys(trained, number))

        return after

    def _reduced(self, arguments: Arguments, keywords: Keywords) -> None:
        """`foreach_reduce(parameters, gradients, group, ..., reduce_dtype, ...)`: its place differs by version."""
        parameters, gradients, group = arguments[:3]
        number = self._sharded.pop(parameters[0], None)
        dtype = argument(arguments, keywords, "reduce_dtype", self._places.index("reduce_dtype"))
        dtype = dtype or gradients[0].dtype
        if number is not None and dtype in LOW and group is not None and group.size() > 1:
            self._recording.tell("reduced", dtype=_name(dtype), ranks=group.size(), made=number)


def _name(dtype: Any) -> str | None:
    return None if dtype is None else str(dtype).removeprefix("torch.")
