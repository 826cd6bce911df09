"""What runs show of sharding, by what the recorder tells of it; tests/test_gallery.py has real ranks."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from verifygate.events.record import Frame
from verifygate.execution.recorded_trace import Event, Section
from verifygate.execution.sharding_violations import violations_of_sharding
from verifygate.instrument.recorder import sharding_watch

SHARDED = {"dtype": "bfloat16", "policy": "bfloat16", "tensors": 12}
UPDATES: dict[str, Any] = {"optimizer": 1, "group": 0, "dtype": "bfloat16", "steps": 4, "movable": 8, "lost": 1}
REDUCED = {"dtype": "float16", "ranks": 2, "made": 1}


def found(*rows: tuple[str, dict[str, Any]]) -> list[tuple[str, int, int]]:
    """The rule, the event at fault and the one that shows it."""
    frames = (Frame("/p/train.py", "main", 7),)
    events = [Event(at, kind, 0, frames, "", fields) for at, (kind, fields) in enumerate(rows, 1)]
    return [
        (each.violation, each.blamed.number, each.shown.number) for each in violations_of_sharding(Section("", events))
    ]


def test_half_shards_that_torch_steps() -> None:
    assert found(("sharded", SHARDED), ("updates", UPDATES)) == [("AMP802", 1, 2)]


@pytest.mark.parametrize(
    ("sharded", "updates"),
    [
        (SHARDED | {"dtype": "float32"}, UPDATES),
        (SHARDED | {"policy": None}, UPDATES),
        (SHARDED, {name: each for name, each in UPDATES.items() if name != "movable"}),  # another's step may compensate
        (SHARDED, UPDATES | {"dtype": "float16"}),
    ],
)
def test_what_a_policy_is_for(sharded: dict[str, Any], updates: dict[str, Any]) -> None:
    assert found(("sharded", sharded), ("updates", updates)) == []


def test_gradients_added_up_in_half() -> None:
    assert found(("sharded", SHARDED | {"dtype": "float32"}), ("reduced", REDUCED)) == [("AMP803", 1, 2)]
    assert found(("reduced", REDUCED | {"made": 9})) == [("AMP803", 1, 1)]


def test_the_dtype_of_a_sum_is_found_where_another_torch_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """`foreach_reduce` was once without the collective, an argument before its dtype."""

    def foreach_reduce(
        parameters: Any, gradients: Any, group: Any, stream: Any, orig_dtype: Any, reduce_dtype: Any
    ) -> None:
        """As it was."""

    told: list[tuple[str, dict[str, Any]]] = []
    around: dict[str, Any] = {}

    def tell(kind: str, **fields: Any) -> int:
        told.append((kind, fields))
        return len(told)

    recording: Any = SimpleNamespace(around=lambda _owner, name, before: around.update({name: before}), tell=tell)
    groups = SimpleNamespace(FSDPParamGroup=object, foreach_reduce=foreach_reduce)
    monkeypatch.setitem(sys.modules, sharding_watch._GROUPS, groups)
    sharding_watch.ShardingWatch(recording).patch()

    parameter = torch.nn.Linear(1, 1)
    parameter.sharded_param = torch.zeros(1, requires_grad=True)
    policy = SimpleNamespace(param_dtype=torch.float16, reduce_dtype=torch.float16)
    around["__init__"]((SimpleNamespace(fsdp_params=[parameter], mp_policy=policy),), {})(None, None)
    two = SimpleNamespace(size=lambda: 2)
    around["foreach_reduce"](([parameter], [], two, None, torch.float32, torch.float16, "cuda"), {})

    assert told[1:] == [("reduced", {"dtype": "float16", "ranks": 2, "made": 1})]
