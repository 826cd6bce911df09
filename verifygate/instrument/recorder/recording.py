"""What every part of the recorder needs: events that know their place and step, tracks of optimizers, no harm done."""

from __future__ import annotations

import atexit
import os
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from ..patching.wrapping import replace, replace_operator
from .backward_roots import Roots
from .compilation import compiles
from .gradient_versions import Track, Tracks
from .journal import Journal, Places
from .parameter_names import ParameterNames

HEAD, TAIL = 24_000, 8_000
"""Events kept of the beginning (of a run, or of each section), and at least of the end."""
MAX_ERRORS = 5

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]


class Recording:
    """What is known while the run goes on. One per process."""

    def __init__(self, options: dict[str, Any]) -> None:
        folder = Path(options["folder"], "trace")
        folder.mkdir(exist_ok=True)
        self.journal = Journal(folder, int(options.get("head", HEAD)), int(options.get("tail", TAIL)))
        self.places = Places(self.journal, Path(options["root"]))
        self.roots = Roots()
        self._readable = frozenset({"cpu", "cuda"} if options.get("emulated") else {"cpu"})
        """Types of devices that nobody has to wait for."""
        self.tracks = Tracks(self._readable)
        self.names = ParameterNames()
        self.steps = 0
        self._rank_told = False
        self.inside: list[str] = []
        """The recorded calls that are running: those of torch that call each other tell of the outer one only."""
        self.stepping: list[tuple[Any, FrameType]] = []
        """Optimizers whose step runs, with the frame that runs it."""
        self.devices: set[str] = set()
        """Device types that autocast was entered for."""
        self.nested: Counter[str] = Counter()
        """Regions inside others, or disabled ones, by what they are."""
        self.writes: Any = None
        """The watch over the project's own writes to gradients."""
        self.updates: Any = None
        """The watch over what steps do to weights in half precision."""
        self.reductions: Any = None
        """The watch over what DistributedDataParallel averages."""
        self.has_scaler = False
        """Whether a scaler that is switched on was made."""
        self.sampler: Any = None
        self.scalers: Any = ()
        """The scalers of the run, as far as they live."""
        self.last_step: dict[str, Any] = {}
        """What was told of the last step, its `number`, and its track."""
        self._waiting: list[dict[str, Any]] = []
        """Steps of which the others are not told yet: their hooks step while a backward runs."""
        self.loss_watch: Any = None
        """Who looks at what a backward begins with; called before it."""
        self.gradient_watch: Any = None
        """Who looks at the gradients of a step that no scaler looks at; called before it."""
        self.scaled_loss_is_finite = True
        """Of the last loss that a scaler multiplied, before it did; where that is not known, too."""
        self.others: list[Any] = []
        """Instruments beside the recorder that are called after each step (`stepped`) and at the end (`told`)."""
        self.active = True
        self._left_by_error: tuple[int, dict[str, Any]] | None = None
        """The id of the last error that left a region, and the autocast that was in force where it did."""
        self._errors = 0
        os.register_at_fork(after_in_child=self._stop)
        atexit.register(self.totals)

    def tell(self, kind: str, *, kept: bool = False, **fields: object) -> int:
        """One event, with what every event has; returns its number. `kept`: also where there is no room any more."""
        if not self.active:
            return 0
        if self.writes is not None:
            self.writes.tell()
        told: dict[str, object] = {"at": self.places.here(), "step": self.steps, **fields}
        if autocast := self.autocast():
            told["autocast"] = autocast
        given = {name: value for name, value in told.items() if value is not None}
        return self.journal.event(kind, given, kept=kept)

    def failed(self, error: Exception) -> None:
        """An error of the recorder's own: told, and kept from the subject."""
        self.inside.clear()  # whatever was entered may never be left
        self._errors += 1
        if self._errors <= MAX_ERRORS:
            trace = error.__traceback__
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            where = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
            self.journal.fact("recorder-error", error=f"{type(error).__name__}: {error}"[:300], where=where)

    def _tell_rank(self) -> None:
        """Which rank of how many this process is, as soon as a step finds it among others."""
        distributed = torch.distributed
        if not self._rank_told and distributed.is_available() and distributed.is_initialized():
            self._rank_told = True
            world = distributed.get_world_size()
            if world > 1:
                self.journal.fact("rank", rank=distributed.get_rank(), world=world)

    def totals(self) -> None:
        """What was only counted; told at the end of the process."""
        self.end_of_section()
        self.journal.fact(
            "totals",
            events=self.journal.number,
            steps=self.steps,
            nested_regions=dict(self.nested),
            compiled=compiles(),
            errors=self._errors,
        )
        for each in (self.sampler, *self.others):
            if each is not None:
                each.told()

    def begin(self, name: str) -> None:
        """A section of its own begins: a test. What is left over from before it says nothing about it."""
        self.end_of_section()
        self.steps = 0
        self.inside.clear()
        self.stepping.clear()
        self.roots.forget()
        for track in self.tracks:
            track.marks = track.look()
        self.journal.begin(name)

    def end_of_section(self) -> None:
        """Tell what is told when a section is over. A part of one that comes after it is told by itself."""
        if self.updates is not None and self.active:
            try:
                self.updates.flush()
            except Exception as error:
                self.failed(error)

    def _stop(self) -> None:
        self.active = False

    def autocast(self) -> str | None:
        """Device and dtype of the autocast that is in force in this thread, `cpu bfloat16`; None for none."""
        for device in self.devices:
            if torch.is_autocast_enabled(device):
                return f"{device} {str(torch.get_autocast_dtype(device)).removeprefix('torch.')}"
        return None

    def note_region_of(self, error: BaseException) -> None:
        """An error leaves a region; the innermost one is that in which it was raised."""
        if self._left_by_error is None or self._left_by_error[0] != id(error):
            device, _, dtype = (self.autocast() or "").partition(" ")
            self._left_by_error = (id(error), {"device": device, "dtype": dtype, "at": self.places.here()})

    def region_of(self, error: BaseException) -> dict[str, Any] | None:
        """`device`, `dtype` and the place `at` which it was entered, of the region in which an error was raised; no
        device where that region switches autocast off."""
        known = self._left_by_error
        return known[1] if known is not None and known[0] == id(error) else None

    def value(self, tensor: Any) -> float | None:
        """The value of a tensor with one element, where reading it waits for nobody."""
        if tensor is None or not self.is_readable(tensor):
            return None
        return float(torch._C.TensorBase.item(tensor))  # not Tensor.item: it may be watched

    def is_readable(self, tensor: Any) -> bool:
        """Whether reading a value waits for nobody; of a device it would, and would end the capture of a graph."""
        return tensor.device.type in self._readable

    def around(self, owner: Any, name: str, before: Any) -> None:
        replace(owner, name, before, self.failed)

    def around_operator(self, owner: Any, name: str, before: Any, *, beside: bool = False) -> None:
        replace_operator(owner, name, before, self.failed, beside=beside)

    def enters(self, call: str) -> bool:
        """Whether this call is not one that an equal call makes, as an overriding method calls its parent's."""
        if call in self.inside:
            return False
        self.inside.append(call)
        return True

    def leaves(self, call: str) -> None:
        while self.inside and self.inside.pop() != call:
            pass

    def track(self, optimizer: Any) -> Track | None:
        """The track of an optimizer; told once."""
        track, is_new = self.tracks.of(optimizer)
        if track is not None and is_new:
            dtypes = Counter(str(parameter.dtype).removeprefix("torch.") for parameter in track.parameters)
            self.journal.fact(
                "optimizer",
                id=track.index,
                type=type(optimizer).__qualname__,
                tensors=sum(dtypes.values()),
                dtypes=dict(dtypes),
                **self.names.of(track.parameters),
                read=track.is_read,
                flattened=any(getattr(parameter, "_fsdp_flattened", False) for parameter in track.parameters) or None,
                at=self.places.here(),
            )
            self.tell("optimizer", optimizer=track.index, empty=track.is_empty)
        return track

    def notice_touched(self, tracks: list[Track]) -> None:
        """Tell which gradients changed since the last look without an event of ours: by the project's own hand."""
        emptied: list[int] = []
        for track in tracks:
            unknown = not track.marks
            if track.changed() and not unknown:
                if track.is_empty:
                    emptied.append(track.index)
                    continue
                self.tell("touched", optimizers=[track.index], factor=track.factor, replaced=track.replaced or None)
                if self.writes is not None and self.has_scaler:
                    self.writes.begin()
        if emptied:
            self.tell("zero_grad", optimizers=emptied, by_hand=True)

    def remember_shared(self, track: Track | None) -> list[int] | None:
        """The other optimizers over some of the parameters that an event was about; None for none."""
        if track is None:
            return None
        shared = self.tracks.overlapping(track)
        for other in shared:
            other.marks = other.look()
        return [other.index for other in shared] or None

    @staticmethod
    def remember(track: Track | None) -> None:
        if track is not None:
            track.marks = track.look()

    def count_step(self, kind: str, track: Track | None, **fields: Any) -> None:
        """Tell of a step. An optimizer that drops its gradients itself leaves them `empty`."""
        empty = (track is not None and track.is_empty) or None
        self._tell_rank()
        alone = (self.reductions is not None and self.reductions.stepped(track)) or None
        self.tell(kind, optimizer=track.index if track else None, empty=empty, alone=alone, **fields)
        self.steps += 1
        self._waiting.append({"kind": kind, "track": track, "number": self.steps, **fields})
        if "backward" not in self.inside:
            self.end_steps()

    def end_steps(self) -> None:
        """The others may look, and switch modes: what is switched while a backward runs, autograd switches back.

        For the sample the steps of one backward are one.
        """
        steps, self._waiting = self._waiting, []
        if steps and self.sampler is not None and self.active:
            self.sampler.stepped()
        for self.last_step in steps:
            for each in self.others:
                if self.active:
                    each.stepped()


def argument(arguments: Arguments, keywords: Keywords, name: str, position: int = 1) -> Any:
    return arguments[position] if len(arguments) > position else keywords.get(name)


def error_name(raised: BaseException | None) -> str | None:
    return None if raised is None else type(raised).__name__
