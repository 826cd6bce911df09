"""Watch GradScaler: its making, scale, unscale_, step, update and its state; subclasses and those that override too."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from ..patching.wrapping import After, is_ours
from .gradient_versions import Track
from .recording import Arguments, Keywords, Recording, argument, error_name
from .scaled_losses import ScaledLosses
from .step_watch import StepWatch


class ScalerWatch:
    """Tells of every scaler that is switched on. One that is off changes nothing, and is told of once."""

    def __init__(self, recording: Recording, steps: StepWatch) -> None:
        self.recording = recording
        self.steps = steps
        self.scalers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self.losses = ScaledLosses(recording)
        self._made = 0

    def patch(self) -> None:
        """Put the watch around the class; subclasses follow when the first of their objects is made."""
        self.recording.around(torch.amp.GradScaler, "__init__", self._scaler_made)
        self._patch_class(torch.amp.GradScaler)

    def _patch_class(self, scaler: type) -> None:
        """The methods that this class itself defines; a subclass may call its parent's, or not."""
        for method, before in (
            ("scale", self._scale),
            ("unscale_", self._unscale),
            ("step", self._scaler_step),
            ("update", self._update),
            ("get_scale", self._get_scale),
            ("state_dict", self._state_dict),
            ("load_state_dict", self._load_state_dict),
        ):
            self.recording.around(scaler, method, before)

    def _scaler_made(self, arguments: Arguments, keywords: Keywords) -> After | None:
        scaler = arguments[0]
        for parent in type(scaler).__mro__:
            if parent is not object and not all(is_ours(value) for value in _scaler_methods(parent)):
                self._patch_class(parent)

        def after(_result: object, raised: BaseException | None) -> None:
            if raised is None:
                given = keywords.get("enabled", arguments[6] if len(arguments) > 6 else True)
                self._scaler(scaler, asked=bool(given))

        return after

    def _scaler(self, scaler: Any, asked: bool | None = None) -> int:
        """The number of a scaler; told once."""
        index = self.scalers.get(scaler)
        if index is None:
            self._made += 1
            index = self.scalers[scaler] = self._made
            self.recording.has_scaler |= _enabled(scaler)
            device = getattr(scaler, "_device", None)
            self.recording.journal.fact(
                "scaler",
                id=index,
                type=f"{type(scaler).__module__}.{type(scaler).__qualname__}",
                device=device if isinstance(device, str) else repr(device),
                device_is_name=isinstance(device, str),
                enabled=_enabled(scaler),
                asked=asked,
                init_scale=getattr(scaler, "_init_scale", None),
                at=self.recording.places.here(),
            )
            self.recording.tell("scaler", scaler=index)
        return index

    def _scale(self, arguments: Arguments, keywords: Keywords) -> After | None:
        scaler = arguments[0]
        if not _enabled(scaler) or not self.recording.enters("scale"):
            return None

        def after(result: Any, raised: BaseException | None) -> None:
            self.recording.leaves("scale")
            index = self._scaler(scaler)
            if raised is None:
                self.recording.roots.mark(result, index)
                self.losses.keep(result, scaler)
            given = arguments[1] if len(arguments) > 1 else keywords.get("outputs")
            dtype = str(given.dtype).removeprefix("torch.") if isinstance(given, torch.Tensor) else None
            finite = self._is_finite(given) if raised is None else None
            self.recording.scaled_loss_is_finite = finite is not False
            self.recording.tell("scale", scaler=index, dtype=dtype, finite=finite, raised=error_name(raised))

        return after

    def _unscale(self, arguments: Arguments, keywords: Keywords) -> After | None:
        scaler, optimizer = arguments[0], argument(arguments, keywords, "optimizer")
        if not _enabled(scaler) or not self.recording.enters("unscale_"):
            return None
        track = self.recording.track(optimizer)
        inner = "step" in self.recording.inside
        if track is not None and not inner:
            self.recording.notice_touched([track])

        def after(_result: object, raised: BaseException | None) -> None:
            self.recording.leaves("unscale_")
            self.recording.remember(track)
            if track is not None and not inner:
                track.unscaled = raised is None
            self.recording.tell(
                "unscale",
                scaler=self._scaler(scaler),
                optimizer=track.index if track else None,
                object=self.recording.tracks.number(optimizer),
                shared=self.recording.remember_shared(track),
                inner=inner or None,
                found_inf=self._found_inf(scaler, optimizer),
                raised=error_name(raised),
            )

        return after

    def _scaler_step(self, arguments: Arguments, keywords: Keywords) -> After | None:
        scaler, optimizer = arguments[0], argument(arguments, keywords, "optimizer")
        if not _enabled(scaler) or not self.recording.enters("step"):
            return None
        track = self.recording.track(optimizer)
        if track is not None:
            self.recording.notice_touched([track])
        self.steps.happened = False
        closure = any(callable(value) for value in (*arguments[2:], *keywords.values()))
        fused = bool(getattr(optimizer, "_step_supports_amp_scaling", False))

        def after(_result: object, raised: BaseException | None) -> None:
            self.recording.leaves("step")
            self.recording.remember(track)
            if track is not None:
                track.close()
            waited = raised is None and not fused and not self.steps.happened
            found = self._found_inf(scaler, optimizer, waited=waited)
            # A fused optimizer's step is called whatever was found, and skips by itself.
            stepped = self.steps.happened if not fused else None if found is None else not found
            self.recording.count_step(
                "scaler.step",
                track,
                scaler=self._scaler(scaler),
                object=self.recording.tracks.number(optimizer),
                target=None if track else type(optimizer).__name__,
                stepped=None if raised is not None else stepped,
                found_inf=found,
                closure=closure or None,
                half=_half_parameters(track),
                raised=error_name(raised),
                **(_scale_of(scaler) if waited and found else {}),
                **(self._gradients_elsewhere(track) if isinstance(raised, AssertionError) and track else {}),
            )

        return after

    def _gradients_elsewhere(self, track: Track) -> dict[str, object]:
        """Of an optimizer without gradients: how many `gradless` tensors it has, how many of them are `frozen`, and
        which parameters of the project's modules got a gradient `elsewhere`."""
        if any(each.grad is not None for each in track.parameters):
            return {}
        modules = self.recording.names.modules
        others = {id(each): each for module in modules for each in torch.nn.Module.parameters(module)}
        got = [each for each in others.values() if each.grad is not None and id(each) not in track.ids]
        frozen = sum(not each.requires_grad for each in track.parameters)
        names = self.recording.names.of(got).get("names", [])
        return {"gradless": len(track.parameters), "frozen": frozen, "elsewhere": names}

    def _update(self, arguments: Arguments, keywords: Keywords) -> After | None:
        scaler = arguments[0]
        if not _enabled(scaler) or not self.recording.enters("update"):
            return None
        given = argument(arguments, keywords, "new_scale") is not None

        def after(_result: object, raised: BaseException | None) -> None:
            self.recording.leaves("update")
            self.recording.roots.scale_read = False
            scale = self.recording.value(getattr(scaler, "_scale", None))
            index = self._scaler(scaler)
            self.recording.tell("update", scaler=index, scale=scale, given=given or None, raised=error_name(raised))

        return after

    def _get_scale(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        if self.recording.inside or not _enabled(arguments[0]):
            return None

        def after(result: Any, raised: BaseException | None) -> None:
            roots, place = self.recording.roots, self.recording.places.here()
            if raised is None and not (roots.scale_read and place in roots.asked):
                self.recording.tell("get_scale", scaler=self._scaler(arguments[0]), scale=float(result))
            roots.asked.add(place)
            roots.scale_read = True

        return after

    def _state_dict(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        if _enabled(arguments[0]):
            self.recording.tell("scaler.state_dict", scaler=self._scaler(arguments[0]))
        return None

    def _load_state_dict(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        if not _enabled(arguments[0]):
            return None

        def after(_result: object, raised: BaseException | None) -> None:
            self.recording.tell("scaler.load_state_dict", scaler=self._scaler(arguments[0]), raised=error_name(raised))

        return after

    def _is_finite(self, loss: Any) -> bool | None:
        """False where a loss of one number can be read, and is inf or NaN before it is scaled."""
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            return None
        value = self.recording.value(loss.detach())
        return False if value is not None and value - value != 0.0 else None

    def _found_inf(self, scaler: Any, optimizer: Any, *, waited: bool = False) -> float | None:
        """What the scaler found in this optimizer's gradients since the last update.

        `waited`: torch has read it just now, to leave the step out, so that a device has it ready.
        """
        states = getattr(scaler, "_per_optimizer_states", {})
        if id(optimizer) not in states:  # to ask would make one
            return None
        read = torch._C.TensorBase.item if waited else self.recording.value
        found = [read(each) for each in states[id(optimizer)]["found_inf_per_device"].values()]
        return None if None in found or not found else sum(each for each in found if each is not None)


def _half_parameters(track: Track | None) -> bool | None:
    """True where a parameter that has a gradient is float16."""
    if track is None:
        return None
    return any(each.dtype is torch.float16 and each.grad is not None for each in track.parameters) or None


def _scale_of(scaler: Any) -> dict[str, Any]:
    """The `scale` of a step that is skipped, and whether it is `untried`: no step was made since it changed.

    They are read from a device as well: torch has just waited for it, to leave the step out.
    """
    scale, steps = (getattr(scaler, name, None) for name in ("_scale", "_growth_tracker"))
    if not isinstance(scale, torch.Tensor) or not isinstance(steps, torch.Tensor):
        return {}
    return {"scale": torch._C.TensorBase.item(scale), "untried": torch._C.TensorBase.item(steps) == 0}


def _scaler_methods(owner: type) -> list[object]:
    names = ("scale", "unscale_", "step", "update", "get_scale", "state_dict", "load_state_dict")
    return [owner.__dict__[name] for name in names if name in owner.__dict__]


def _enabled(scaler: Any) -> bool:
    return bool(getattr(scaler, "_enabled", False))
