"""When an error about dtypes ends the run, tell what it was about: read off the frames, after the run is over.

While the program runs, nothing is looked at but casts of whole modules, which are rare.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from .. import launch
from ..launch import Tell
from ..patching.frames import foreign, of_torch_or_ours
from ..recorder import install as recorder
from ..recorder.low_precision import LOW
from ..recorder.recording import Arguments, Keywords, Recording
from .operands import Operand, operands, passes_on
from .origins import Origins
from .syntax import Call, calls, node_at, text_of

ABOUT_DTYPES = re.compile(r"\b(?:c10::)?(?:BFloat16|Half|bfloat16|float16|Float)\b|dtype|scalar type|[Ll]ow precision")
OF_A_CONSTANT = "without overflow"
"""In what torch says of a number that the dtype cannot hold."""
CASTS = ("to", "half", "bfloat16", "float", "double")


def install(_options: dict[str, Any], tell: Tell) -> None:
    """The recorder is installed before."""
    recording = recorder.current
    if recording is None:
        raise RuntimeError("the recorder is not installed")
    casts = Casts(recording)
    for name in CASTS:
        recording.around(torch.nn.Module, name, casts.called)
    launch.at_failure.append(lambda error: _explain(error, recording, casts, tell))


class Casts:
    """Where each module was cast last, as a whole."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._places: Any = WeakIdKeyDictionary()

    def called(self, arguments: Arguments, _keywords: Keywords) -> None:
        self._places[arguments[0]] = self._recording.places.here()

    def of(self, parameter: torch.Tensor) -> int | None:
        """The place of the last cast of a module that has this parameter or buffer."""
        found = None
        for module, place in self._places.items():
            own = (*torch.nn.Module.parameters(module), *torch.nn.Module.buffers(module))
            if any(each is parameter for each in own):
                found = place
        return found


def _explain(error: BaseException, recording: Recording, casts: Casts, tell: Tell) -> None:
    """Tell `dtype-error`, where the error is about dtypes and its operands could be found."""
    if not isinstance(error, RuntimeError | TypeError | ValueError) or not ABOUT_DTYPES.search(str(error)):
        return
    if OF_A_CONSTANT in str(error):
        return  # the dtype is right, and the number is not
    trace = [call for call in calls(error.__traceback__) if not launch.is_ours(call.path)]
    own = [number for number, call in enumerate(trace) if not foreign(call.path)]
    if not own or not (of_torch_or_ours(trace[-1].path) or own[-1] == len(trace) - 1):
        return  # another library raised, about something of its own
    under = recording.region_of(error)
    with _unseen(recording), _region(under):
        in_backward = "run_backward" in str(_text(trace[-1]))
        rows = _of_backward(trace) if in_backward else _of_call(trace, own[-1], casts)
    if not any(row["dtype"] in _NAMES for row in rows):
        return
    place = trace[own[-1]]
    tell(
        "dtype-error",
        at=[place.path, place.line],
        call=_text(place),
        message=str(error).strip().partition("\n")[0][:300],
        operands=rows,
        region=under,
        regions=sorted(recording.devices),
        in_backward=in_backward,
        past=_past_a_wrapper(trace),
    )


_NAMES = frozenset(str(dtype).removeprefix("torch.") for dtype in LOW)


def _text(call: Call) -> str:
    found = node_at(call)
    return text_of(found[0]) if found is not None else ""


def _of_call(trace: Sequence[Call], own: int, casts: Casts) -> list[dict[str, Any]]:
    """The operands of the call that raised; where it was a check of torch's own, those of the project's call."""
    origins = Origins(trace)
    innermost = len(trace) - 1
    for at in (own,) if passes_on(trace[innermost]) else (innermost, own):
        rows = [_row(each, origins, casts, at) for each in operands(trace[at])]
        if any(row["dtype"] in _NAMES for row in rows):
            return rows
    return []


def _row(operand: Operand, origins: Origins, casts: Casts, at: int) -> dict[str, Any]:
    told = origins.of(operand.expression, operand.tensor, at)
    dtype = str(operand.tensor.dtype).removeprefix("torch.")
    place = casts.of(operand.tensor) if told.get("kind") in ("parameter", "buffer") else None
    cast = {"cast": place} if place else {}
    return {"dtype": dtype, "written": operand.is_written, **cast, **told}


@contextmanager
def _unseen(recording: Recording) -> Iterator[None]:
    """What is computed again is none of the run's own: it is not recorded, and draws none of its random numbers."""
    cuda: Any = torch.cuda
    devices = [cuda.current_device()] if torch.version.cuda and cuda.is_initialized() else []
    active, recording.active = recording.active, False
    try:
        with torch.random.fork_rng(devices):
            yield
    finally:
        recording.active = active


def _region(under: dict[str, Any] | None) -> Any:
    """The region that the error left, for what is computed again."""
    if under is None or not under["device"]:
        return nullcontext()
    return torch.autocast(under["device"], getattr(torch, under["dtype"]))


def _of_backward(trace: Sequence[Call]) -> list[dict[str, Any]]:
    """What the first operation behind a loss kept, whose inputs have two dtypes: half logits, float32 targets."""
    roots = next(
        (call.frame.f_locals.get("tensors") for call in reversed(trace) if "tensors" in call.frame.f_locals), ()
    )
    waiting = [each.grad_fn for each in roots if isinstance(each, torch.Tensor)] if isinstance(roots, tuple) else []
    seen: set[Any] = set()
    while waiting and len(seen) < 256:
        node = waiting.pop(0)
        if node is None or node in seen:
            continue
        seen.add(node)
        kept = {name: each for name in dir(node) if name.startswith("_saved_") for each in [getattr(node, name, None)]}
        floating = {
            name: each for name, each in kept.items() if isinstance(each, torch.Tensor) and each.is_floating_point()
        }
        if len({each.dtype for each in floating.values()}) > 1:
            operator = str(node.name()).partition("Backward")[0]
            return [
                {
                    "text": f"{operator}.{name.removeprefix('_saved_')}",
                    "dtype": str(each.dtype).removeprefix("torch."),
                    "kind": "kept",
                }
                for name, each in floating.items()
            ]
        waiting += [each for each, _ in node.next_functions]
    return []


def _past_a_wrapper(trace: Sequence[Call]) -> dict[str, str] | None:
    """The method by which the program went past a wrapper whose forward alone opens a region, where it did."""
    for call in reversed(trace):
        owner, name = call.frame.f_locals.get("self"), call.frame.f_code.co_name
        if isinstance(owner, torch.nn.Module) and not foreign(call.path) and "forward" in owner.__dict__:
            return {"method": name, "owner": type(owner).__qualname__} if name not in ("forward", "__call__") else None
    return None
