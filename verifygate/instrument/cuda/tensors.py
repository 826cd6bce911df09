"""Tensors that count as lying on CUDA, although a CPU holds them.

Every tensor stays an ordinary CPU tensor. Whether it *counts* as a CUDA tensor is marked on its storage, which views,
parameters and `.data` share. A dispatch mode carries the mark from the inputs of an operator to its outputs, forward
and backward, and turns `device="cuda"` into the CPU; the faces that Python code sees (`.device`, `.is_cuda`, `.to`,
`.cuda`, `.cpu`, `.numpy`, ...) answer as CUDA's do.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils._device import DeviceContext, _device_constructors
from torch.utils._python_dispatch import TorchDispatchMode

REAL_DEVICE_CLASS: Any = torch.device
CPU = torch.device("cpu")
CUDA = torch.device("cuda", 0)
MARK = "_verifygate_counts_as_cuda"
PINNED = "_verifygate_counts_as_pinned"

FACTORIES = (
    "arange as_tensor asarray bartlett_window blackman_window empty empty_like empty_strided eye full full_like "
    "hamming_window hann_window kaiser_window linspace logspace ones ones_like rand rand_like randint randint_like "
    "randn randn_like randperm scalar_tensor sparse_coo_tensor tensor tril_indices triu_indices zeros zeros_like"
).split()
FROM_DATA = ("as_tensor", "asarray", "sparse_coo_tensor", "tensor")
"""Factories that move their data to the device before a dispatch mode can see it."""
NEW_FACTORIES = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros")

_Real: Any = torch._C.TensorBase
_REAL_DEVICE = _Real.device.__get__
_aten = torch.ops.aten
_patched: Any = torch
"""Torch as something to write to; half of what is used of it here has no types."""


def mark(value: Any, on_cuda: bool = True) -> Any:
    """Mark every tensor in `value` (a tensor, or lists, tuples and dicts of them), and return it."""
    for tensor in tensors_in(value):
        _set(tensor, MARK, on_cuda)
    return value


def is_cuda(device: Any) -> bool:
    """Whether a device, as written in code (`0`, `"cuda:0"`, a torch.device), is CUDA."""
    if isinstance(device, bool) or not isinstance(device, (int, str, REAL_DEVICE_CLASS)):
        return False
    kind, _, index = ("cuda", "", str(device)) if isinstance(device, int) else str(device).partition(":")
    if kind == "cuda" and index not in ("", "0"):
        _another_device()
    return kind == "cuda"


def _another_device() -> None:
    """Called where code names a second device. `install` puts in its place what tells of it."""


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from tensors_in(one)


def _storage(tensor: torch.Tensor) -> Any:
    try:
        return _Real.untyped_storage(tensor)
    except (NotImplementedError, RuntimeError):
        return None


def _marked(tensor: torch.Tensor, name: str) -> bool:
    return getattr(_storage(tensor), name, False)


def _set(tensor: torch.Tensor, name: str, value: bool) -> None:
    storage = _storage(tensor)
    if storage is not None:
        setattr(storage, name, value)


class CudaMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Turns CUDA devices into the CPU under every operator, and carries the mark to what comes out.

    An operator of torch's own that asks for the device of its input asks for the CPU, and cannot know better; so the
    mark is carried there as well. Code that means the CPU says so to one of the faces below, which takes the mark away.
    """

    _FIRST_ONLY = frozenset({_aten.index.Tensor, _aten._pack_padded_sequence.default})
    """Operators whose other inputs, or outputs, may lie on the CPU."""
    _COPIES = frozenset({_aten.copy_.default, _aten._foreach_copy_.default})
    _UNSCALE = _aten._amp_foreach_non_finite_check_and_unscale_.default

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        device = kwargs.get("device")
        if is_cuda(device):
            return mark(func(*args, **{**kwargs, "device": CPU}))
        if func is self._UNSCALE:
            _refuse_bfloat16(args[0])
        given = tuple(tensors_in(args[:1] if func in self._FIRST_ONLY else (args, kwargs)))
        on_cuda = any(_marked(tensor, MARK) for tensor in given)
        if not on_cuda:
            return func(*args, **kwargs)
        copies = func in self._COPIES and torch._C._current_graph_task_id() == -1
        if func._schema.is_mutable and not copies and given[0].dim():
            mark(args[:1])  # what is written into from CUDA lies there too, or torch would refuse; only a copy crosses
        before = {id(storage) for tensor in given if (storage := _storage(tensor)) is not None}
        result = func(*args, **kwargs)
        for tensor in tensors_in(result[:1] if func in self._FIRST_ONLY and isinstance(result, tuple) else result):
            storage = _storage(tensor)
            if storage is not None and id(storage) not in before:
                setattr(storage, MARK, True)
        return result


def _refuse_bfloat16(gradients: Iterable[torch.Tensor]) -> None:
    """CUDA has no kernel that unscales bfloat16; the CPU has one."""
    if any(one.dtype is torch.bfloat16 and _marked(one, MARK) for one in gradients):
        raise NotImplementedError("\"_amp_foreach_non_finite_check_and_unscale_cuda\" not implemented for 'BFloat16'")


# --- the faces of a tensor


def _device(self: torch.Tensor) -> torch.device:
    real: torch.device = _REAL_DEVICE(self)
    return CUDA if real.type == "cpu" and _marked(self, MARK) else real


def _parsed(args: Any, kwargs: dict[str, Any]) -> torch.device | None:
    """The device that `.to(*args, **kwargs)` asks for; None where it asks for a dtype only."""
    asked = kwargs.get("device", kwargs.get("other", args[0] if args else None))
    if isinstance(asked, torch.Tensor):
        return _device(asked)
    if is_cuda(asked):
        return CUDA
    return REAL_DEVICE_CLASS(asked) if isinstance(asked, (str, REAL_DEVICE_CLASS)) else None


def _on_cpu(args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The same arguments, asking for the CPU instead of CUDA."""
    args = (CPU, *args[1:]) if args and is_cuda(args[0]) else args
    return args, {**kwargs, "device": CPU} if is_cuda(kwargs.get("device")) else kwargs


def _to(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    wanted = _parsed(args, kwargs)
    if wanted is None or wanted.type not in ("cpu", "cuda") or _REAL_DEVICE(self).type != "cpu":
        args, kwargs = _on_cpu(args, kwargs)
        return _Real.to(self, *args, **kwargs)
    args, kwargs = _on_cpu(args, kwargs)
    on_cuda = wanted.type == "cuda"
    if on_cuda == _marked(self, MARK):
        return _Real.to(self, *args, **kwargs)
    if len(args) < 4 and not any(isinstance(one, torch.Tensor) for one in (*args, kwargs.get("other"))):
        kwargs = {**kwargs, "copy": True}  # another device is another memory
        return mark(_Real.to(self, *args, **kwargs), on_cuda)
    moved = _Real.to(self, *args, **kwargs)
    return mark(moved.clone() if _storage(moved) is _storage(self) else moved, on_cuda)


def _cuda(self: torch.Tensor, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    return _to(self, CUDA, non_blocking=non_blocking, **kwargs)


def _cpu(self: torch.Tensor, **kwargs: Any) -> Any:
    return _to(self, CPU, **kwargs)


def _numpy(self: torch.Tensor, *, force: bool = False) -> Any:
    if _device(self).type == "cuda" and not force:
        hint = "Use Tensor.cpu() to copy the tensor to host memory first."
        raise TypeError(f"can't convert cuda:0 device type tensor to numpy. {hint}")
    return _Real.numpy(self, force=force)


def _type(self: torch.Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    if dtype is None:
        name: str = _Real.type(self)
        return name.replace("torch.", "torch.cuda.", 1) if _device(self).type == "cuda" else name
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", "")
    if isinstance(dtype, torch.dtype) or not name:
        return _Real.type(self, dtype, non_blocking, **kwargs)
    plain = name.removeprefix("torch.").removeprefix("cuda.")
    on_cuda = "cuda." in name or getattr(dtype, "__module__", "") == "torch.cuda"
    return _to(_Real.type(self, f"torch.{plain}", non_blocking, **kwargs), CUDA if on_cuda else CPU)


def _type_as(self: torch.Tensor, other: torch.Tensor) -> Any:
    return _to(self, device=_device(other), dtype=other.dtype)


def _pin_memory(self: torch.Tensor, device: Any = None) -> Any:
    if _device(self).type == "cuda":
        raise RuntimeError(f"cannot pin '{_type(self)}' only dense CPU tensors can be pinned")
    if _marked(self, PINNED):
        return self
    pinned = self.clone()
    _set(pinned, PINNED, True)
    return pinned


def _new(name: str) -> Callable[..., Any]:
    real = getattr(_Real, name)

    @functools.wraps(real)
    def new(self: torch.Tensor, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        place = _device(self) if device is None else device
        if not is_cuda(place):
            asked = {} if device is None else {"device": device}
            return mark(real(self, *args, **asked, **kwargs), on_cuda=False)
        return mark(real(self, *args, device=CPU, **kwargs))

    return new


def _factory(name: str) -> Callable[..., Any]:
    """A factory that takes `device=0`; the others move their data themselves, and mark it."""
    real = getattr(torch, name)

    @functools.wraps(real)
    def factory(*args: Any, **kwargs: Any) -> Any:
        if name == "as_tensor" and args[2:]:
            args, kwargs = args[:2], {**kwargs, "device": args[-1]}
        device = kwargs.get("device")
        if device is None and name in FROM_DATA:
            device = _device(args[0]) if args and isinstance(args[0], torch.Tensor) else _default()
        if device is None:
            return real(*args, **kwargs)
        on_cuda = is_cuda(device)
        if on_cuda and name not in FROM_DATA:
            return real(*args, **{**kwargs, "device": _named(device)})
        made = real(*args, **{**kwargs, "device": CPU if on_cuda else device})
        if args and isinstance(args[0], torch.Tensor) and _storage(made) is _storage(args[0]):
            return _to(made, CUDA if on_cuda else device)
        return mark(made, on_cuda)

    return factory


def _named(device: Any) -> Any:
    """`0` as `cuda:0`: torch takes a bare number only where it sees an accelerator."""
    return REAL_DEVICE_CLASS("cuda", device) if isinstance(device, int) and is_cuda(device) else device


def _default() -> torch.device | None:
    """The device of `torch.set_default_device(...)` or `with torch.device(...)`, where one of them holds here."""
    if not torch._C._is_torch_function_mode_enabled():
        return None
    contexts = reversed(_patched.overrides._get_current_function_mode_stack())
    return next((one.device for one in contexts if isinstance(one, DeviceContext)), None)


def install(another_device: Callable[[], None]) -> None:
    """Put everything in place, in this thread and those that start later.

    `another_device` is called where code names a device other than the first; it is taken for the first.
    """
    global _another_device
    _another_device = another_device
    _device_constructors()  # cached: it must know torch's own factories, which call the mode
    faces: dict[str, Any] = {
        "device": property(_device),
        "is_cuda": property(lambda self: _device(self).type == "cuda"),
        "is_cpu": property(lambda self: _device(self).type == "cpu"),
        "get_device": lambda self: 0 if _device(self).type == "cuda" else _Real.get_device(self),
        "to": _to,
        "cuda": _cuda,
        "cpu": _cpu,
        "numpy": _numpy,
        "type": _type,
        "type_as": _type_as,
        "pin_memory": _pin_memory,
        "is_pinned": lambda self, device=None: _marked(self, PINNED),
        "record_stream": lambda self, stream: None,
        **{name: _new(name) for name in NEW_FACTORIES},
    }
    for name, face in faces.items():
        if callable(face) and hasattr(_Real, name):
            face = functools.wraps(getattr(_Real, name))(face)
        setattr(torch.Tensor, name, face)
    builtins = _patched.jit._builtins  # so that TorchScript takes the replacement for the operator that it calls
    for name in FACTORIES:
        real, replacement = getattr(torch, name), _factory(name)
        setattr(torch, name, replacement)
        builtins._register_builtin(replacement, builtins._find_builtin(real) or f"aten::{name}")
    _patched.get_device = lambda tensor: tensor.get_device()
    parse = torch._C._nn._parse_to
    torch._C._nn._parse_to = lambda *args, **kwargs: parse(
        *map(_named, args[:1]),
        *args[1:],
        **{name: _named(value) if name == "device" else value for name, value in kwargs.items()},
    )
    _storages()
    _in_every_thread()


def _storages() -> None:
    """A storage's copy keeps the mark; `.cuda()` sets it."""
    base: Any = torch.storage._StorageBase
    clone = base.clone

    def copied(self: Any) -> Any:
        made = clone(self)
        if getattr(self, MARK, False):
            setattr(made, MARK, True)
        return made

    def moved(self: Any, *_args: Any, **_kwargs: Any) -> Any:
        made = self if getattr(self, MARK, False) else clone(self)
        setattr(made, MARK, True)
        return made

    base.clone = copied
    base.cuda = moved


def _in_every_thread() -> None:
    """Enter the mode here, and in each thread as it starts: torch's modes belong to one thread."""
    new: Any = CudaMode
    new().__enter__()
    bootstrap = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def bootstrapped(self: threading.Thread) -> None:
        torch._C.set_autocast_dtype("cpu", torch.float16)  # per thread as well
        with new():
            bootstrap(self)

    threading.Thread._bootstrap_inner = bootstrapped  # type: ignore[attr-defined]
