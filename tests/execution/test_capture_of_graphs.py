"""While a CUDA graph is captured, the recorder computes nothing beside it: that would be captured too."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from verifygate.instrument.numerics.operations import _Mode
from verifygate.instrument.recorder.graph_capture import is_capturing
from verifygate.instrument.recorder.update_watch import UpdateWatch


class Counted(TorchDispatchMode):
    """The operations that run: a stand-in for the stream that captures them."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func._schema.name)
        return func(*args, **kwargs or {})


@pytest.mark.parametrize("capturing", [True, False])
def test_no_sample_of_a_captured_step(capturing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    weight = torch.nn.Parameter(torch.ones(8, dtype=torch.bfloat16))
    weight.grad = torch.ones_like(weight)
    optimizer = torch.optim.SGD([weight], lr=1e-6)
    told: list[dict[str, Any]] = []
    recording: Any = SimpleNamespace(
        track=lambda _: SimpleNamespace(index=0),
        places=SimpleNamespace(here=lambda: 1),
        tell=lambda kind, **fields: told.append({"kind": kind, **fields}),
        steps=1,
    )
    watch = UpdateWatch(recording)
    monkeypatch.setattr(UpdateWatch, "unseen", lambda _: nullcontext())
    monkeypatch.setattr("verifygate.instrument.recorder.update_watch.other_modes", lambda: False)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: capturing)
    with Counted() as stream:
        watch.before(optimizer, nested=False)
        watch.after(optimizer)
    assert bool(stream.names) is not capturing
    watch.flush()
    assert [each["steps"] for each in told if each["kind"] == "updates"] == ([] if capturing else [1])


@pytest.mark.parametrize("capturing", [True, False])
def test_no_operation_of_a_capture_is_looked_at(capturing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    look = lambda func, *_: seen.append(func._schema.name)  # noqa: E731
    operations: Any = SimpleNamespace(on=True, before=look, see=look, _recording=None)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: capturing)
    with _Mode(operations):
        torch.ones(2)
    assert seen == ([] if capturing else ["aten::ones", "aten::ones"])


def test_where_cuda_is_not_in_use_nothing_is_captured() -> None:
    """torch's own question raises in a build without CUDA."""
    assert not torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    assert not is_capturing()
