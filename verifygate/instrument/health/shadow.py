"""Repeat a window's forward and backward in float32, on copies, and compare each module with what the run computed.

The model is copied before its forward. When the window is over, the copy computes twice: once as the run did, which
must give the run's own numbers again, and once with autocast off and everything in float32. The backward of both
begins with the gradient that the run's own backward brought to the model's output. Nothing of the run is touched:
copies compute, gradients are returned and not accumulated, random states are put back.
"""

from __future__ import annotations

import copy
import dis
import inspect
import math
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from ..recorder.low_precision import LOW
from ..recorder.recording import Recording
from .module_names import ModuleNames, first_tensor

GradientOf = Callable[[Any, str], Any]
REPEATED = 1 / 8
"""A comparison counts if repeating as the run did differs by at most this share of what float32 differs by."""


class NotRepeatableError(Exception):
    """Why a forward cannot be run again without doing harm, or without showing something else."""


@dataclass
class _Output:
    """The first output of a module, as it was in the run."""

    module: Any
    tensor: Any
    version: int


@dataclass
class _Call:
    """The outermost call of one model in a window."""

    module: Any
    copied: Any
    arguments: Any
    versions: list[int]
    randomness: Any
    autocast: list[tuple[str, bool, Any]]
    outputs: dict[int, list[_Output]] = field(default_factory=dict)
    """By the module's id, in the order of its calls."""
    result: Any = None
    version: int = 0
    gradients: list[Any] = field(default_factory=list)
    times: int = 1


class Shadow:
    """Keeps the first call of the window's model, and repeats it."""

    def __init__(self, recording: Recording, names: ModuleNames) -> None:
        self._recording, self._names = recording, names
        self._call: _Call | None = None
        self._why_not = ""
        self._shadowing = False

    def called(self, module: Any, arguments: Any, keywords: Any) -> None:
        """An outermost module begins to compute."""
        if self._shadowing:
            return
        if self._call is not None:
            if self._call.module is module:
                self._call.times += 1
            return
        if self._why_not:
            return
        try:
            self._call = self._kept(module, (arguments, keywords))
        except NotRepeatableError as error:
            self._why_not = str(error)

    def returned(self, module: Any, result: Any, *, outermost: bool) -> None:
        """A module has computed."""
        call = self._call
        if call is None or self._shadowing or call.times > 1 or call.result is not None:
            return
        output = first_tensor(result)
        if output is not None:
            known = _Output(module, output.detach(), output._version)
            call.outputs.setdefault(id(module), []).append(known)
        if outermost and module is call.module:
            call.result = result
            if output is not None and output.requires_grad:
                output.register_hook(lambda gradient: call.gradients.append(gradient.detach().clone()))

    def compare(self, gradient_of: GradientOf) -> dict[str, Any]:
        """`rows`, of each module an output and a gradient, or `why_not`. What was kept is let go."""
        call, self._call = self._call, None
        why_not, self._why_not = self._why_not, ""
        if call is None:
            return {"why_not": why_not or "no module was called", "rows": []}
        state = _random_state()
        active, self._recording.active = self._recording.active, False
        self._shadowing = True
        try:
            return {"why_not": "", "model": type(call.module).__qualname__, "rows": self._compared(call, gradient_of)}
        except NotRepeatableError as error:
            return {"why_not": str(error), "rows": []}
        except Exception as error:  # whatever the project's code raises where it computes in another dtype
            return {"why_not": f"repeating it raised {type(error).__name__}: {error}"[:300], "rows": []}
        finally:
            _set_random_state(state)
            self._recording.active, self._shadowing = active, False

    def _kept(self, module: Any, arguments: Any) -> _Call:
        _refuse(module)
        try:
            copied = copy.deepcopy(module)
        except Exception as error:
            what = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
            raise NotRepeatableError(f"{type(module).__qualname__} cannot be copied ({what})") from error
        kinds = sorted({"cpu", *self._recording.devices})
        autocast = [(kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in kinds]
        return _Call(module, copied, arguments, _versions(arguments), _random_state(), autocast)

    def _compared(self, call: _Call, gradient_of: GradientOf) -> list[dict[str, Any]]:
        if len(call.gradients) != 1:
            raise NotRepeatableError(
                f"{len(call.gradients)} backwards came to the output of {type(call.module).__qualname__}"
            )
        if _versions(call.arguments) != call.versions:
            raise NotRepeatableError(f"{type(call.module).__qualname__} writes into what it is given")
        in_float32 = copy.deepcopy(call.copied).float()
        again = _run(call, call.copied, float32=False)
        shadow = _run(call, in_float32, float32=True)
        rows = [*_outputs(call, again, shadow), *_gradients(call, again, shadow, gradient_of)]
        names = self._names.of([row["module"] for row in rows])
        for row in rows:
            row["name"] = names[id(row.pop("module"))]
        return rows


@dataclass
class _Repeated:
    outputs: dict[str, list[Any]]
    gradients: dict[str, Any]


def _run(call: _Call, module: Any, *, float32: bool) -> _Repeated:
    """One forward and backward of a copy."""
    outputs: dict[str, list[Any]] = {}
    for path, part in module.named_modules():
        part.register_forward_hook(lambda _m, _a, result, path=path: _keep(outputs.setdefault(path, []), result))
    _set_random_state(call.randomness)
    positional, named = tree_map(_float32 if float32 else _detached, call.arguments)
    with _autocast(call.autocast, off=float32), torch.enable_grad():
        output = first_tensor(module(*positional, **named))
    named_parameters: Any = inspect.unwrap(torch.nn.Module.named_parameters)  # the recorder remembers who is asked
    parameters = {name: each for name, each in named_parameters(module) if each.requires_grad}
    differentiate: Any = inspect.unwrap(torch.autograd.grad)
    gradients = differentiate(output, list(parameters.values()), call.gradients[0].to(output.dtype), allow_unused=True)
    return _Repeated(outputs, dict(zip(parameters, gradients, strict=True)))


def _keep(kept: list[Any], result: Any) -> None:
    output = first_tensor(result)
    if output is not None:
        kept.append(output.detach().clone())


def _outputs(call: _Call, again: _Repeated, shadow: _Repeated) -> Iterator[dict[str, Any]]:
    """The relative error of each module's outputs."""
    for path, module in torch.nn.Module.named_modules(call.module):
        run = call.outputs.get(id(module), [])
        repeated, exact = again.outputs.get(path, []), shadow.outputs.get(path, [])
        if not run or not len(run) == len(repeated) == len(exact):
            continue
        if any(each.tensor._version != each.version for each in run):
            continue  # an operation in place has written over it since
        noise = max(_error(each.tensor, other) for each, other in zip(run, repeated, strict=True))
        error = max(_error(each.tensor, other) for each, other in zip(run, exact, strict=True))
        if noise > 0 and noise > REPEATED * error:
            name = path or type(call.module).__qualname__
            raise NotRepeatableError(
                f"the output of {name} is another when it is computed again: it keeps state elsewhere"
            )
        yield {"module": module, "what": "output", "error": error, "flushed": 0, "elements": 0}


def _gradients(call: _Call, again: _Repeated, shadow: _Repeated, gradient_of: GradientOf) -> Iterator[dict[str, Any]]:
    """The relative error of the gradient of each module's own parameters, taken together as one vector.

    One by one, a parameter whose gradient cancels to zero (a bias before a normalisation) would have no measure.
    """
    for path, module in torch.nn.Module.named_modules(call.module):
        found = []
        for name in module._parameters:
            key = f"{path}.{name}".lstrip(".")
            run, repeated, exact = gradient_of(module, name), again.gradients.get(key), shadow.gradients.get(key)
            if run is not None and repeated is not None and exact is not None and run.shape == exact.shape:
                found.append([each.detach().reshape(-1) for each in (run, repeated, exact)])
        if not found:
            continue
        run, repeated, exact = (torch.cat(each) for each in zip(*found, strict=True))
        noise, error = _error(run, repeated), _error(run, exact)
        if noise > 0 and noise > REPEATED * error:
            continue  # it has other sources than this output: a penalty, another loss
        flushed = int(((run == 0) & (exact != 0)).sum())
        yield {"module": module, "what": "gradient", "error": error, "flushed": flushed, "elements": run.numel()}


def _error(run: Any, exact: Any) -> float:
    """The norm of the difference by the norm of what is exact; 0 where both are zero, inf where one is not finite."""
    one, other = run.detach().double(), exact.detach().double()
    if one.shape != other.shape:
        return float("inf")
    difference, norm = float((one - other).norm()), float(other.norm())
    if difference == 0:
        return 0.0
    return difference / norm if norm and math.isfinite(difference) else float("inf")


def _refuse(module: Any) -> None:
    """Raises NotRepeatableError for what cannot be run twice without doing harm, as far as its code tells."""
    for part in torch.nn.Module.modules(module):
        kind = type(part)
        if kind.__module__.startswith(("torch.distributed", "torch.nn.parallel")):
            raise NotRepeatableError(f"{kind.__qualname__} talks to other processes")
        for hook in (*part._forward_hooks.values(), *part._forward_pre_hooks.values(), *part._backward_hooks.values()):
            if not (getattr(hook, "__module__", "") or type(hook).__module__).startswith("torch."):
                raise NotRepeatableError(f"a hook on {kind.__qualname__} would run twice")
        for owner in kind.__mro__:
            if owner.__module__.startswith("torch.") or owner is object:
                continue
            for name, function in vars(owner).items():
                code = getattr(function, "__code__", None)
                if code is not None and name != "__init__" and (why := _effect(code)):
                    raise NotRepeatableError(
                        f"{owner.__qualname__}.{name} {why}: running it again would change the run"
                    )


def _effect(code: CodeType) -> str:
    """What a function does outside of its module, as far as its names tell."""
    names = set(code.co_names) | {each for one in code.co_consts if isinstance(one, tuple) for each in one}
    if "next" in names:
        return "draws data by next()"
    if names & {"generator", "Generator"}:
        return "draws from a generator of its own"
    stores = [each for each in dis.get_instructions(code) if each.opname in ("STORE_GLOBAL", "STORE_DEREF")]
    if any(each.opname == "STORE_GLOBAL" or each.argval in code.co_freevars for each in stores):
        return "writes a variable outside of it"
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    return next((why for one in inner if (why := _effect(one))), "")


def _versions(arguments: Any) -> list[int]:
    return [each._version for each in tree_leaves(arguments) if isinstance(each, torch.Tensor)]


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value


def _float32(value: Any) -> Any:
    plain = _detached(value)
    return plain.float() if isinstance(plain, torch.Tensor) and plain.dtype in LOW else plain


@contextmanager
def _autocast(states: list[tuple[str, bool, Any]], *, off: bool) -> Iterator[None]:
    """Autocast as it was for the run's forward, or off, also where the model itself enters it."""
    before = [(kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind, _, _ in states]
    setter = torch.set_autocast_enabled
    torch.autocast_increment_nesting()
    try:
        for kind, enabled, dtype in states:
            setter(kind, enabled and not off)
            torch.set_autocast_dtype(kind, dtype)
        if off:
            torch.set_autocast_enabled = lambda kind, _enabled=False: setter(kind, False)
        yield
    finally:
        torch.set_autocast_enabled = setter
        for kind, enabled, dtype in before:
            setter(kind, enabled)
            torch.set_autocast_dtype(kind, dtype)
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()


def _random_state() -> tuple[Any, ...]:
    numpy: Any = sys.modules.get("numpy")
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None  # type: ignore[no-untyped-call]
    return torch.get_rng_state(), cuda, random.getstate(), numpy.random.get_state() if numpy else None


def _set_random_state(state: tuple[Any, ...]) -> None:
    cpu, cuda, python, of_numpy = state
    torch.set_rng_state(cpu)
    if cuda is not None:
        torch.cuda.set_rng_state_all(cuda)
    random.setstate(python)
    if of_numpy is not None:
        sys.modules["numpy"].random.set_state(of_numpy)
