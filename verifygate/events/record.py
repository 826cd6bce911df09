"""One event of a training program, as a real run and an abstract one both leave it.

The recorder sees values and writes what it measured; the static stage sees what a value may be. So every attribute but
kind and place may be None: the witness does not say. Where several dtypes are possible an attribute is a set of names;
a run gives sets of one.
"""

from __future__ import annotations

from enum import StrEnum

from verifygate.base.records import record

Dtypes = frozenset[str]
"""Names without `torch.`: `float16`. Empty for a value that is no tensor."""
Pair = tuple[float, float]


class Kind(StrEnum):
    """What happened. The values are the words of the recorder's lines."""

    OPERATOR = "operator"
    """A call of torch on tensors, under its canonical name."""
    CAST = "cast"
    LOSS = "loss"
    FORWARD = "forward"
    SCALE = "scale"
    BACKWARD = "backward"
    GRAD = "grad"
    """`torch.autograd.grad`: a backward whose gradients are values."""
    UNSCALE = "unscale"
    CLIP = "clip"
    SCALER_STEP = "scaler.step"
    STEP = "optimizer.step"
    UPDATE = "update"
    ZERO_GRAD = "zero_grad"
    GET_SCALE = "get_scale"
    WRITTEN = "written"
    """A statement of the project wrote gradients."""
    TOUCHED = "touched"
    """Gradients changed, and no statement is known to have done it."""
    BOUNDED = "bounded"
    """A write by hand that took the inf out of gradients."""
    REGION_ENTER = "autocast"
    REGION_EXIT = "autocast.exit"
    SCALER = "scaler"
    """One was made."""
    OPTIMIZER = "optimizer"
    """One was made, or seen for the first time."""
    SAVE = "save"
    LOAD = "load"
    REDUCE = "reduce"
    """Gradients or parameters were reduced over ranks."""
    OTHER = "other"
    """A word of the recorder that no table and no twin reads."""

    @classmethod
    def of(cls, word: str) -> Kind:
        """The kind that a recorder's line names."""
        return _BY_WORD.get(word, cls.OTHER)


_BY_WORD: dict[str, Kind] = {kind.value: kind for kind in Kind}


@record
class Frame:
    """A frame of the project's code."""

    path: str
    """Absolute."""
    symbol: str
    line: int


@record
class Region:
    """The innermost autocast region of a device type."""

    device: str
    dtype: str
    enabled: bool = True


@record
class Measured:
    """What only a run can say of an event: sizes that it measured, and what it found at the object."""

    factor: float | None = None
    """What gradients were multiplied by."""
    replaced: bool = False
    """The write put other tensors in the place of gradients."""
    hid: bool = False
    """The write left nothing of an inf for the scaler to find."""
    norm: Pair | None = None
    """Of all gradients together, before and after a write."""
    sizes: tuple[tuple[float, float, float, float], ...] = ()
    """Of single gradients: norm before and after, largest value before and after."""
    added: float | None = None
    """The size of what a write added to gradients."""
    multiple: float | None = None
    """What the added was of the parameters: the factor of a weight decay by hand."""
    limit: float | None = None
    """That of a clip."""
    endless: bool = False
    """A clip without a limit: it measures."""
    tensors: int | None = None
    """How many a clip is over."""
    scale: float | None = None
    """The loss scale, where the call told it."""
    found_inf: float | None = None
    given: bool = False
    """An update was passed the new scale."""
    inner: bool = False
    """An unscale within `scaler.step`."""
    shared: tuple[int, ...] = ()
    """Other optimizers that own some of the same parameters."""
    unread: bool = False
    """The gradients of a step were not looked at."""
    unclear: bool = False
    """Whether the root of a backward is scaled could not be told."""


_NOTHING = Measured()


@record
class Event:
    """One event. Place is the nearest frame of the project's own code."""

    kind: Kind
    frames: tuple[Frame, ...] = ()
    """Where it happened, innermost first; empty where no frame was the project's own."""
    number: int = 0
    """Its place in the order of the run; 0 where there is no order."""
    operator: str | None = None
    """Canonical name: `torch.nn.functional.linear`, `torch.Tensor.sum`, `torch.Tensor.__add__`."""
    dtypes_in: tuple[Dtypes, ...] | None = None
    """Of the tensors among the arguments, in their order, those in lists and tuples too."""
    dtypes_out: tuple[Dtypes, ...] | None = None
    region: Region | None = None
    """The top of the stack when it happened; for the entry of a region, that region."""
    in_region: bool | None = None
    """Whether autocast is on for any device type; None where that is not known."""
    grad_mode: bool | None = None
    scaled: bool | None = None
    """Whether the root of a backward, or the gradients that are used, were multiplied by a loss scale."""
    parameters: tuple[int, ...] | None = None
    """The sets of parameters that it is about, by the number of their first optimizer."""
    object: int | None = None
    """The optimizer, scaler or module, by its number within the run."""
    scaler: int | None = None
    raised: str = ""
    """Type of the error that the call ended in; empty where it returned."""
    empty: bool = False
    """No gradients are left after it."""
    measured: Measured = _NOTHING

    @property
    def file(self) -> str:
        """Path of the innermost frame of the project; empty for none."""
        return self.frames[0].path if self.frames else ""

    @property
    def line(self) -> int:
        """Line of the innermost frame of the project, from 1; 0 for none."""
        return self.frames[0].line if self.frames else 0
