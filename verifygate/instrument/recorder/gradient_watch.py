"""Watch what happens to gradients: backward and what its root descends from, clips, zero_grad."""

from __future__ import annotations

import sys
from math import isfinite
from typing import Any

import torch
from torch.optim.optimizer import Optimizer

from ..patching.wrapping import After
from .backward_roots import factor_near, half_below, share_of
from .gradient_versions import Track
from .graph_watch import GraphWatch
from .recording import Arguments, Keywords, Recording, argument, error_name
from .step_watch import StepWatch

BOUNDING = ("nan_to_num_", "clamp_", "clamp_min_", "clamp_max_", "clip_")
"""Writes in place, methods and functions, by which an inf becomes a number like any other."""
REFUSAL = "instead of `loss.backward()`"
"""What Fabric says of a backward that is not its own, where its own scales the loss."""


class GradientWatch:
    """Tells which optimizers' gradients each event is about."""

    def __init__(self, recording: Recording, steps: StepWatch) -> None:
        self.recording = recording
        self._steps = steps
        self.graphs = GraphWatch(recording)
        self._bounded: dict[int, tuple[Track, Any]] | None = {}
        """Identity of a gradient -> track and parameter, of what the last backward scaled; None: not looked up yet."""

    def _enters(self, call: str) -> bool:
        return not self._steps.is_running() and self.recording.enters(call)

    def patch(self) -> None:
        """Put the watch around what makes, clips and clears gradients."""
        from torch.nn.utils import clip_grad

        around = self.recording.around
        around(torch.autograd, "backward", self._backward)  # Tensor.backward calls it by this name
        around(torch.autograd, "grad", self._grad)
        self.graphs.patch()
        if hasattr(clip_grad, "_clip_grads_with_norm_"):
            # What the public functions call by these names: an alias of theirs is covered as well.
            around(clip_grad, "_clip_grads_with_norm_", self._clip_norm)
            around(clip_grad, "_group_tensors_by_device_and_dtype", self._clip_value)
            for module in (clip_grad, torch.nn.utils):
                around(module, "clip_grads_with_norm_", self._clip_norm)
        else:  # before torch 2.6
            for module in (clip_grad, torch.nn.utils):
                around(module, "clip_grad_norm_", self._clip_norm)
                around(module, "clip_grad_value_", self._clip_norm)
        around(Optimizer, "__init__", self._optimizer_made)
        around(Optimizer, "zero_grad", self._zero_optimizer)
        around(torch.nn.Module, "zero_grad", self._zero_module)
        around(torch.nn.Module, "named_parameters", self.recording.names.asked)
        for name in BOUNDING:
            for owner in (torch.Tensor, torch):
                self.recording.around_operator(owner, name, self._bound)
            self.recording.around_operator(torch, name.rstrip("_"), self._bound_into, beside=True)

    def _backward(self, arguments: Arguments, keywords: Keywords) -> After | None:
        if not self._enters("backward"):
            return None  # a backward inside one: a checkpoint recomputes
        tracks = list(self.recording.tracks)
        self.recording.notice_touched(tracks)
        empty = {track.index for track in tracks if track.is_empty}
        for track in tracks:
            if track.read_before is None:
                track.read_before = self._steps.reads.count
        tensors = arguments[0] if arguments else keywords.get("tensors")
        weights = argument(arguments, keywords, "grad_tensors")
        root, scaler = self.recording.roots.kind(tensors, weights)
        uses = self.recording.roots.events_below(tensors)
        share = share_of(tensors)
        if self.recording.loss_watch is not None:
            self.recording.loss_watch(tensors)
        if self.recording.sampler is not None:
            self.recording.sampler.in_backward = True

        def after(_result: object, raised: BaseException | None) -> None:
            self.recording.leaves("backward")
            refused = raised is not None and REFUSAL in str(raised)
            self._bounded = None if root == "scaled" else {}
            self.recording.writes.forget()
            if self.recording.sampler is not None:
                self.recording.sampler.in_backward = False
            reached = []
            devices = _devices(tensors)
            for track in tracks:
                if track.changed():
                    reached.append(track.index)
                    devices |= track.devices
                else:
                    track.look_closer()
            told: dict[str, Any] = {
                "root": root,
                "scaler": scaler,
                "share": share,
                "optimizers": reached,
                "devices": sorted(devices),
            }
            self.graphs.captures(told, empty)
            self.recording.tell(
                "backward",
                **told,
                uses=uses or None,
                inf=[track.index for track in tracks if track.index in reached and not track.is_finite] or None,
                half=_is_half(tensors) or None,
                refused=refused or None,
                raised=error_name(raised),
            )
            self.recording.end_steps()

        return after

    def _grad(self, arguments: Arguments, keywords: Keywords) -> After | None:
        """`autograd.grad`, where there is a live scaler: gradients of a penalty, or gradients to assign by hand."""
        if not self.recording.has_scaler or self.recording.inside:
            return None
        outputs = argument(arguments, keywords, "outputs", 0)
        weights = argument(arguments, keywords, "grad_outputs", 2)
        root, scaler = self.recording.roots.kind(outputs, None)
        if root == "plain" and not self._are_ones(weights):
            root = "unclear"
        graph = bool(argument(arguments, keywords, "create_graph", 4))
        half = graph and half_below(outputs)

        def after(result: object, raised: BaseException | None) -> None:
            number = self.recording.tell(
                "grad",
                root=root,
                scaler=scaler,
                half=half or None,
                factor=factor_near(outputs) or None,
                graph=graph or None,
                raised=error_name(raised),
            )
            if half and raised is None:
                self.recording.roots.mark_event(result, number)

        return after

    def _are_ones(self, weights: Any) -> bool:
        """Whether what a gradient is weighted by changes nothing, as far as that can be read."""
        given = weights if isinstance(weights, list | tuple) else [weights]
        return all(
            each is None
            or self.recording.value(each.min()) == self.recording.value(each.max()) == 1.0  # None where unread
            for each in given
        )

    def _clip_norm(self, arguments: Arguments, keywords: Keywords) -> After | None:
        if not self._enters("clip"):
            return None
        given = argument(arguments, keywords, "parameters", 0)
        parameters = [given] if isinstance(given, torch.Tensor) else given
        listed = isinstance(parameters, list | tuple)
        tracks = self.recording.tracks.with_parameters(parameters) if listed else []
        limit = argument(arguments, keywords, "max_norm")
        norm = argument(arguments, keywords, "total_norm", 2)
        return self._clipped("norm", tracks, len(parameters) if listed else None, limit, norm)

    def _clip_value(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        if sys._getframe(3).f_code.co_name != "clip_grad_value_" or not self._enters("clip"):
            return None  # the clips by norm group their tensors as well
        gradients = [gradient for group in arguments[0] for gradient in group]
        limit = sys._getframe(3).f_locals.get("clip_value")
        return self._clipped("value", self.recording.tracks.with_gradients(gradients), len(gradients), limit)

    def _clipped(self, kind: str, tracks: list[Track], count: int | None, limit: Any, norm: Any = None) -> After:
        self.recording.notice_touched(tracks)
        size = self.recording.value(norm) if type(norm) is torch.Tensor and norm.dim() == 0 else None
        number = float(limit) if isinstance(limit, int | float) else None
        endless = number == float("inf")

        def after(_result: object, raised: BaseException | None) -> None:
            self.recording.leaves("clip")
            for track in tracks:
                self.recording.remember(track)
                if kind == "value":
                    track.marks = []  # the grouping is over, the clamp is yet to come
            self.recording.tell(
                "clip",
                clip=kind,
                optimizers=[track.index for track in tracks],
                tensors=count,
                endless=endless or None,
                limit=number if number is not None and isfinite(number) else None,
                norm=size,
                raised=error_name(raised),
            )

        return after

    def _bound_into(self, _arguments: Arguments, keywords: Keywords) -> After | None:
        """`torch.nan_to_num(gradient, out=gradient)`."""
        written = keywords.get("out")
        return self._bound((written,), {}) if isinstance(written, torch.Tensor) else None

    def _bound(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        """A write that takes the inf out of a gradient; told once per backward and optimizer, for the first of them."""
        if self._bounded is None:
            self._bounded = {
                id(parameter.grad): (track, parameter)
                for track in self.recording.tracks
                for parameter in track.parameters
                if parameter.is_leaf and parameter.grad is not None
            }
        tensor = arguments[0] if arguments else None
        found = self._bounded.get(id(tensor))
        if found is None or found[1].grad is not tensor or self.recording.inside or self._steps.is_running():
            return None
        track = found[0]
        if track.marks:
            self.recording.notice_touched([track])

        def after(_result: object, raised: BaseException | None) -> None:
            if raised is None:
                if track.marks:
                    self.recording.tell("bounded", optimizers=[track.index])
                track.marks = []  # the other gradients are yet to come, and are no writes of another kind

        return after

    def _optimizer_made(self, arguments: Arguments, _keywords: Keywords) -> After:
        def after(_result: object, raised: BaseException | None) -> None:
            if raised is None:
                self.recording.track(arguments[0])

        return after

    def _zero_optimizer(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        if not self._enters("zero_grad"):
            return None
        track = self.recording.track(arguments[0])

        def after(_result: object, raised: BaseException | None) -> None:
            self.recording.leaves("zero_grad")
            self._zeroed([] if track is None else [track, *self._emptied(track)], raised)

        return after

    def _zero_module(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        if not self._enters("zero_grad"):
            return None
        ids = set(map(id, arguments[0].parameters()))
        tracks = [track for track in self.recording.tracks if track.ids <= ids]
        touched = [track for track in self.recording.tracks if track not in tracks and not track.ids.isdisjoint(ids)]

        def after(_result: object, raised: BaseException | None) -> None:
            self.recording.leaves("zero_grad")
            self._zeroed(tracks, raised)
            self.recording.notice_touched(touched)

        return after

    def _emptied(self, zeroed: Track) -> list[Track]:
        """Other tracks over some of the same parameters, of which none has a gradient any more."""
        found = []
        for track in self.recording.tracks:
            if track is not zeroed and not track.ids.isdisjoint(zeroed.ids) and track.changed() and track.is_empty:
                found.append(track)
        return found

    def _zeroed(self, tracks: list[Track], raised: BaseException | None) -> None:
        self.recording.writes.forget()
        for track in tracks:
            self.recording.remember(track)
        if tracks:
            self.recording.tell("zero_grad", optimizers=[track.index for track in tracks], raised=error_name(raised))


def _is_half(tensors: Any) -> bool:
    """Whether a root of a backward is float16."""
    given = tensors if isinstance(tensors, list | tuple) else [tensors]
    return any(isinstance(each, torch.Tensor) and each.dtype is torch.float16 for each in given)


def _devices(tensors: Any) -> set[str]:
    """Types of the devices that the roots of a backward lie on."""
    given = tensors if isinstance(tensors, list | tuple) else [tensors]
    return {each.device.type for each in given if isinstance(each, torch.Tensor)}
