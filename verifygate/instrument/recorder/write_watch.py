"""Watch how the project's own code writes gradients: which statement, and what became of their size.

That somebody wrote is known from version counters (`gradient_versions`), everywhere and for nothing. Where, and what,
takes a look at each write, so this watch begins only with the first write that was noticed, in a run with a live
scaler. What one statement does to the gradients of one optimizer in one window is one event.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from ..launch import UNSEEN
from ..patching.wrapping import After
from .addends import Added, Write, addend
from .gradient_versions import Track
from .recording import Arguments, Keywords, Recording
from .step_watch import StepWatch

REPLACING = ("copy_", "fill_", "zero_", "set_", "_foreach_copy_", "_foreach_zero_")
"""Writes in place after which nothing is left of what was there."""
CHANGING = (
    "mul_ div_ true_divide_ multiply_ divide_ add_ sub_ addcmul_ addcdiv_ lerp_ pow_ sign_ neg_ round_ renorm_ "
    "masked_fill_ masked_scatter_ index_fill_ index_put_ index_copy_ scatter_ normal_ __setitem__ __imul__ "
    "__itruediv__ __iadd__ __isub__ _foreach_mul_ _foreach_div_ _foreach_add_ _foreach_sub_ _foreach_clamp_min_ "
    "_foreach_clamp_max_ _foreach_lerp_"
)
MEASURED = 1 << 22
"""Elements of a gradient that is measured, at most."""
STATEMENTS, WINDOWS = 200, 40
"""How many statements are told of, and in how many windows each."""
SHOWN = 6
"""Tensors of a statement of which the sizes are told."""


@dataclass
class Size:
    """Norm and largest value of a gradient; None where they were not read."""

    norm: float | None = None
    most: float | None = None

    @property
    def is_finite(self) -> bool:
        return self.norm is not None and self.norm - self.norm == 0.0


@dataclass
class Written:
    """What one statement did to the gradients of one optimizer in this window."""

    replaced: bool = False
    before: dict[int, Size] = field(default_factory=dict)
    """By the identity of the parameter."""
    after: dict[int, Size] = field(default_factory=dict)
    added: Added = field(default_factory=Added)


class WriteWatch:
    """Tells of the writes since the last event before the next one."""

    def __init__(self, recording: Recording, steps: StepWatch) -> None:
        self.recording = recording
        self._steps = steps
        self._on = False
        self._written: dict[tuple[int, int], Written] = {}
        """Place and track -> what was done there."""
        self._told: dict[tuple[int, int], int] = {}
        self._tracks: dict[int, Track] = {}
        """Identity of a parameter -> its track."""
        self._storages: dict[int, list[tuple[Track, Any]]] | None = None
        """Address of a gradient's memory -> whose gradients lie there; None: not looked up yet."""

    def begin(self) -> None:
        """Watch from here on."""
        if self._on:
            return
        self._on = True
        for name in (*REPLACING, *CHANGING.split()):
            for owner in (torch.Tensor, torch):
                self.recording.around_operator(owner, name, self._changes(name), beside=True)
        self._patch_assignment()

    def forget(self) -> None:
        """Gradients lie elsewhere from here on."""
        self._storages = None

    def tell(self) -> None:
        """Tell of what was written since the last event."""
        if not self._written:
            return
        written, self._written = self._written, {}
        for (place, index), one in written.items():
            sizes = [(size, one.after[key]) for key, size in one.before.items() if key in one.after]
            finite = [(a, b) for a, b in sizes if a.is_finite and b.is_finite]
            self.recording.tell(
                "written",
                at=place,
                optimizers=[index],
                replaced=one.replaced or None,
                hid=any(not a.is_finite and b.is_finite for a, b in sizes if a.norm is not None) or None,
                sizes=[[a.norm, b.norm, a.most, b.most] for a, b in finite[:SHOWN]] or None,
                norm=[_together(a for a, _ in finite), _together(b for _, b in finite)] if finite else None,
                added=one.added.norm,
                multiple=one.added.factor,
            )

    def _patch_assignment(self) -> None:
        base: Any = torch._C.TensorBase.grad

        def assign(parameter: Any, value: Any) -> None:
            after = self._assigned(parameter, value)
            base.__set__(parameter, value)
            if after is not None:
                after(None, None)

        assign.__code__ = assign.__code__.replace(co_filename=UNSEEN)
        named: Any = torch.Tensor
        named.grad = property(base.__get__, assign, base.__delete__, base.__doc__)

    def _assigned(self, parameter: Any, value: Any) -> After | None:
        try:
            if value is None or self._is_ours():
                return None
            if self._storages is None:
                self._look_up()
            track = self._tracks.get(id(parameter))
            write = Write("grad", (parameter, value), {})
            return None if track is None else self._change(track, parameter, write, replaced=True)
        except Exception as error:
            self.recording.failed(error)
            return None

    def _changes(self, name: str) -> Any:
        replaced = name in REPLACING

        def before(arguments: Arguments, keywords: Keywords) -> After | None:
            if not arguments or self._is_ours():
                return None
            target = arguments[0]
            changes = [
                change
                for number, tensor in enumerate(target if isinstance(target, list | tuple) else (target,))
                for track, parameter in self._owners(tensor)
                if (change := self._change(track, parameter, Write(name, arguments, keywords, number), replaced))
            ]

            def after(result: object, raised: BaseException | None) -> None:
                for change in changes:
                    change(result, raised)

            return after if changes else None

        return before

    def _is_ours(self) -> bool:
        """Whether a call runs that is an event of its own."""
        return bool(self.recording.inside) or torch.compiler.is_compiling() or self._steps.is_running()

    def _owners(self, tensor: Any) -> list[tuple[Track, Any]]:
        """The parameters whose gradients lie in the memory of this tensor, seen as whatever."""
        if not isinstance(tensor, torch.Tensor):
            return []
        if self._storages is None:
            self._look_up()
        address = _address(tensor)
        found = (self._storages or {}).get(address, ())
        return [(track, parameter) for track, parameter in found if _address(parameter.grad) == address]

    def _look_up(self) -> None:
        self._tracks, self._storages = {}, {}
        for track in self.recording.tracks:
            for parameter in track.parameters:
                self._tracks[id(parameter)] = track
                if parameter.is_leaf and (address := _address(parameter.grad)):
                    self._storages.setdefault(address, []).append((track, parameter))

    def _change(self, track: Track, parameter: Any, write: Write, replaced: bool) -> After | None:
        key = (self.recording.places.here(), track.index)
        if key not in self._written:
            if self._told.get(key, 0) >= WINDOWS or len(self._told) >= STATEMENTS:
                return None
            self._told[key] = self._told.get(key, 0) + 1
        written = self._written.setdefault(key, Written())
        written.replaced |= replaced
        if id(parameter) not in written.before:
            written.before[id(parameter)] = self._size(parameter.grad)
        self._add(written.added, parameter, write)

        def after(_result: object, raised: BaseException | None) -> None:
            if raised is None:
                written.after[id(parameter)] = self._size(parameter.grad)
                if replaced and self._storages is not None and (address := _address(parameter.grad)):
                    self._storages.setdefault(address, []).append((track, parameter))

        return after

    def _add(self, added: Added, parameter: Any, write: Write) -> None:
        """Take down what a write is about to add to the gradient of a parameter."""
        gradient = parameter.grad
        if gradient is None or gradient.is_complex() or not self._is_measured(gradient):
            added.known = False
            return
        with torch.no_grad():
            added.take(addend(write, gradient), parameter)

    def _is_measured(self, gradient: Any) -> bool:
        """Whether its values are read: nobody has to wait for them, and they are not too many."""
        return (
            gradient.layout is torch.strided
            and 0 < gradient.numel() <= MEASURED
            and self.recording.is_readable(gradient)
        )

    def _size(self, gradient: Any) -> Size:
        """Read where nobody has to wait for a device."""
        if gradient is None or gradient.layout is not torch.strided or not 0 < gradient.numel() <= MEASURED:
            return Size()
        with torch.no_grad():
            real = torch.view_as_real(gradient) if gradient.is_complex() else gradient
            wide = real.detach().double()
            return Size(
                self.recording.value(torch.linalg.vector_norm(wide)),
                self.recording.value(torch.linalg.vector_norm(wide, float("inf"))),
            )


def _address(tensor: torch.Tensor | None) -> int:
    """Where its memory begins; 0 for None and for what has no memory of its own."""
    if tensor is None or tensor.layout is not torch.strided:
        return 0
    try:
        return tensor.untyped_storage().data_ptr()
    except RuntimeError:  # a tensor that wraps others
        return 0


def _together(sizes: Any) -> float:
    return float(sum(each.norm**2 for each in sizes) ** 0.5)
