"""Every operation of a step, while somebody looks: where did what is not finite begin?

Every operation is seen by a dispatch mode. An output that is not finite has a cause: that of a bad input, or else the
operation itself, the *origin*. Infs that are written on purpose (a mask of -inf) are no origin. An origin has operator,
place, module, dtypes, the largest finite input, and what the result would be in float32. An operation of the backward
is told at the line of the forward that it belongs to.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode_stack,
    is_traceable_wrapper_subclass,
)
from torch.utils.weak import WeakIdKeyDictionary

from ..recorder.gradient_versions import Track
from ..recorder.graph_capture import is_capturing
from ..recorder.recording import Recording
from .averages import Averages
from .breaking import Breaking, is_collective, is_finite, is_on_purpose, may_break, tensors
from .log_ratios import LogRatios
from .module_paths import ModulePaths
from .past_wrappers import PastWrappers
from .running_statistics import RunningStatistics
from .swallowed import Swallowed

_FOUND_INF = "_amp_foreach_non_finite_check_and_unscale_"
Cause = dict[str, Any]


class Operations:
    """Switched on and off between steps; knows the cause of what is not finite."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.past_wrappers = PastWrappers(recording)
        self._modules = ModulePaths(self._look_past)
        self._causes: Any = WeakIdKeyDictionary()
        """Tensor that is not finite -> the operation where that began; None for what is on purpose."""
        self._stored: dict[int, Cause | None] = {}
        """The same by address: what is written to a part of a tensor is known of the whole."""
        self._reached: list[Cause] = []
        """A cause for each gradient that the scaler found not finite."""
        self.of_loss: Cause | None = None
        """The cause of a loss that is not finite: the first of those whose backwards lead to one step."""
        self._is_stepped = False
        """Whether a step was made since the last backward; another one behind it has the same loss."""
        self._places: dict[int, tuple[int, str]] = {}
        """Sequence number of autograd -> place and module of the forward."""
        self._around: Any = None
        """The node of autograd in whose hook the watch began: a step there is run again inside of its backward."""
        self.last: Cause | None = None
        """The operation that broke last, whatever came of it."""
        self._number = 0
        self.swallowed = Swallowed()
        self.averages = Averages(recording)
        self.statistics = RunningStatistics(recording)
        self.ratios = LogRatios(recording)
        self.on = False
        """Whether the step that runs is looked at. The mode may have to stay behind it, and lets all pass then."""
        self._mode: Any = None

    def start(self) -> None:
        """Look at the step that begins."""
        self.on = False  # what is asked here is none of its operations
        self._reached, self._is_stepped = [], True
        self._causes = self._still_known()
        self.swallowed.begin()
        self.averages.begin()
        for each in (self.statistics, self.ratios, self.past_wrappers):
            each.begin()
        self._around = torch._C._current_autograd_node()
        self.on = True
        self._modules.start()
        if self._mode is None:
            self._mode = _Mode(self)
            self._mode.__enter__()

    def stop(self) -> None:
        """Take the mode off the stack, if nothing lies on top of it; else after a later step."""
        self.on = False
        self.of_loss = None
        stack = _get_current_dispatch_mode_stack()
        if self._mode is not None and stack and stack[-1] is self._mode:
            self._mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]
            self._mode = None
            self._modules.stop()

    def cause_of(self, values: Any) -> Cause | None:
        """Where it began that one of these tensors is not finite; None where none is, or nobody saw it."""
        found = (cause for each in filter(may_break, tensors((values,))) for cause in self._known(each))
        return next(filter(None, found), None)

    def causes_of_gradients(self, track: Track | None) -> list[Cause]:
        """Where it began that gradients of an optimizer are not finite, one for each that is known."""
        gradients = (each.grad for each in track.parameters) if track is not None else ()
        return self._reached or [cause for each in gradients if each is not None and (cause := self.cause_of(each))]

    def _still_known(self) -> Any:
        """What was not finite before this step and still is: a fake image, weights, the gradients of a second step."""
        found: Any = WeakIdKeyDictionary()
        self._stored = {}
        for each, cause in list(self._causes.items()):
            if not is_finite(each):
                found[each] = cause
                self._remember_memory(each, cause)
        return found

    def _remember_memory(self, tensor: Any, cause: Cause | None) -> None:
        address = _address(tensor)
        if address and (_is_whole(tensor) or self._stored.get(address) is None):
            self._stored[address] = cause

    def scale(self) -> float | None:
        """The loss scale of the step that is over: `update()` has not been called yet."""
        scales = [self._recording.value(getattr(each, "_scale", None)) for each in self._recording.scalers]
        return max((each for each in scales if each is not None), default=None)

    # --- one operation

    def before(self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """An operation is about to run."""
        self.averages.before(operator, arguments, keywords)
        self.statistics.before(operator, arguments, keywords)

    def _look_past(self, module: Any) -> None:
        """A module is called that no other one calls."""
        if self.on:
            try:
                self.past_wrappers.called(module)
            except Exception as error:
                self._recording.failed(error)

    def see(self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> None:
        """Look at what an operation made."""
        self._number += 1
        name = operator._schema.name.partition("::")[2]
        node: Any = torch._C._current_autograd_node()
        node = None if node is self._around else node
        if node is None:
            number = torch._C._autograd._get_sequence_nr() - 1
            if number not in self._places:
                self._places[number] = (self._recording.places.here(), self._modules.here)
        if name == _FOUND_INF:
            self._reached += filter(None, (self._causes.get(each) for each in arguments[0]))
            return
        if name == "ones_like" and self._is_root():
            before = None if self._is_stepped else self.of_loss
            self.of_loss, self._is_stepped = before or self._causes.get(arguments[0]), False
        if name.startswith(("empty", "new_empty")):
            return  # what lies in that memory is nobody's
        if is_collective(operator):
            self._exchanged(arguments, result)
            return
        if node is None:
            self.ratios.after(name, arguments, result)
        if operator.is_view and not (self._stored or len(self._causes)):
            return  # it has what its input has
        if node is None:
            self.swallowed.follow(operator, arguments, keywords, result)
            self.averages.after(operator, arguments, keywords, result)
            self.statistics.after(operator, arguments, keywords, self._modules.here)
        bad = []
        for each in filter(may_break, _results(operator, arguments, result)):
            if not is_finite(each):
                bad.append(each)
            elif self._stored or len(self._causes):  # it may be written over in place
                self._causes.pop(each, None)
                if (address := _address(each)) and _is_whole(each):
                    self._stored.pop(address, None)
        if bad:
            breaking = Breaking(operator, name, arguments, keywords, bad[0])
            cause = self._cause(breaking, node)
            if cause is not None and cause["operation"] == self._number:
                self.swallowed.overflowed(breaking, cause)
            for each in bad:
                self._causes.setdefault(each, cause)
                self._remember_memory(each, cause)

    def _exchanged(self, arguments: tuple[Any, ...], result: Any) -> None:
        """Values of other ranks may not have come yet, and are not looked at; what broke here goes on in them."""
        causes = [self._causes[each] for each in tensors(arguments) if each in self._causes]
        cause = next(filter(None, causes), None)
        for each in tensors(result):
            self._causes.pop(each, None)
            if cause is not None:
                self._causes[each] = cause

    @staticmethod
    def _is_root() -> bool:
        """Whether torch makes the gradient that a backward begins with: its input is the loss."""
        frame: FrameType | None = sys._getframe(3)
        while frame is not None and frame.f_code.co_name != "_make_grads":
            frame = frame.f_back
        return frame is not None

    def _cause(self, breaking: Breaking, node: Any) -> Cause | None:
        """Where it began: at a bad input, in what came in from outside, or here. None for what is on purpose."""
        known = [cause for each in breaking.inputs for cause in self._known(each)]
        if begun := [cause for cause in known if cause is not None]:
            first: Cause = min(begun, key=lambda cause: int(cause["operation"]))
            return first
        if is_on_purpose(breaking) or (known and not breaking.makes_nan):
            return None  # a mask, or what a mask was added to
        if not known and (outside := breaking.bad_inputs):
            may_be_a_mask = breaking.makes_nan and not any(outside) and not self._has_a_bad_weight(breaking)
            if not may_be_a_mask:
                return self._told_of(breaking, node, kind="came-in")
        return self._told_of(breaking, node, kind=breaking.kind)

    def _has_a_bad_weight(self, breaking: Breaking) -> bool:
        """Whether an input that is not finite is a weight, or a view of one: an inf in it is on nobody's purpose."""
        bad = {_address(each) for each in breaking.inputs if not is_finite(each)} - {0}
        return any(_address(each) in bad for track in self._recording.tracks for each in track.parameters)

    def _known(self, tensor: Any) -> list[Cause | None]:
        """The cause of a tensor, where it is known: its own, or that of what was written to a part of its memory."""
        if tensor in self._causes:
            return [self._causes[tensor]]
        address = _address(tensor)
        return [self._stored[address]] if address in self._stored and not is_finite(tensor) else []

    def _told_of(self, breaking: Breaking, node: Any, kind: str) -> Cause:
        place, module = self._recording.places.here(), self._modules.here
        if node is not None:
            place, module = self._places.get(node._sequence_nr(), (place, ""))
        self.last = {
            "operation": self._number,
            "operator": breaking.name,
            "kind": kind,
            "backward": node.name() if node is not None else "",
            "at": place,
            "module": module,
            "scaled": node is not None or breaking.is_scaling,
            "scale": self.scale(),
            **breaking.figures(),
        }
        return self.last


def _address(tensor: Any) -> int:
    """Where the memory of a tensor begins; 0 for one that has none of its own: a sparse one, or a `DTensor`."""
    if tensor.layout is not torch.strided or is_traceable_wrapper_subclass(tensor):
        return 0
    return int(tensor.untyped_storage().data_ptr())


def _is_whole(tensor: Any) -> bool:
    """Whether a tensor with memory of its own covers it, and is no part of another."""
    return bool(tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes())


def _results(operator: Any, arguments: tuple[Any, ...], result: Any) -> Iterator[Any]:
    """The tensors that an operation returns; where it returns none, those that it writes to: `_foreach_zero_`."""
    if result is not None:
        return tensors((result,))
    written = (
        given
        for given, declared in zip(arguments, operator._schema.arguments, strict=False)
        if declared.alias_info is not None and declared.alias_info.is_write
    )
    return tensors(tuple(written))


class _Mode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, operations: Operations) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._operations = operations

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        if self._operations.on:
            self._look(self._operations.before, func, args, keywords)
        result = func(*args, **keywords)
        if self._operations.on:
            self._look(self._operations.see, func, args, keywords, result)
        return result

    def _look(self, see: Any, *seen: Any) -> None:
        if is_capturing():
            return  # what is computed beside would become a part of the graph, and what is read would end its capture
        try:
            see(*seen)
        except Exception as error:
            self._operations._recording.failed(error)
