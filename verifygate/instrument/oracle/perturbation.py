"""Run the subject with another loss scale, bfloat16 in place of float16, and tell what its weights become.

The scale is a power of two, and bfloat16 has float32's range: a right loop ends in the same bits for every scale.
"""

from __future__ import annotations

from typing import Any

import torch

from ..patching.frames import caller
from ..patching.wrapping import replace_around
from ..recorder import install as recorder
from .line_tracer import LineWatch
from .training_watch import Followed, Tell, Watch, version

WATCH: list[Watch] = []
"""The watch of this run; other instruments that are installed after this one find it here."""


def install(options: dict[str, Any], tell: Tell) -> None:
    """Follow the run for `windows` updates.

    `init_scale`: what every scaler begins with, and goes back to when its state is loaded; None leaves it alone.
    `switch_on`: enable scalers that the program made with enabled=False, or that found no device.
    `bfloat16`: take it wherever autocast is asked for float16. `cuda`, `mps`: what torch shall say is available.
    `rewrites`: also tell every line that writes gradients between a backward and their first use.
    `half_parameters`: make every optimizer's parameters float16.
    """
    watch = Watch(tell, int(options["windows"]))
    WATCH[:] = [watch]
    if recorder.current is not None:
        watch.before_end.append(recorder.current.totals)
    tell("devices", cuda=torch.cuda.is_available())
    for device in ("cuda", "mps"):
        if options.get(device) is not None:
            _pretend(device, bool(options[device]))
    if options.get("bfloat16"):
        replace_around(torch.amp.autocast_mode.autocast, "__init__", _in_bfloat16)
    if options.get("switch_on"):
        replace_around(torch.amp.GradScaler, "__init__", _switched_on)
    if (scale := options.get("init_scale")) is not None:
        watch.made_scaler.append(lambda scaler: _set_scale(scaler, float(scale)))
        replace_around(torch.amp.GradScaler, "load_state_dict", _loaded(float(scale)))
    if options.get("half_parameters"):
        watch.made_optimizer.append(_halve)
    if options.get("rewrites"):
        rewrites = _Rewrites(watch)
        watch.before_backward.append(rewrites.stop)
        watch.after_backward.append(rewrites.start)
        watch.before_use.append(lambda _followed: rewrites.stop())
    watch.start()
    torch.nn.modules.module.register_module_forward_hook(_HalfOutputs(tell))


def _in_bfloat16(old: Any, context: Any, device_type: str, dtype: Any = None, *rest: Any, **keywords: Any) -> None:
    kind = str(device_type).partition(":")[0]
    if dtype is None and torch.amp.is_autocast_available(kind):
        dtype = torch.get_autocast_dtype(kind)
    old(context, device_type, torch.bfloat16 if dtype is torch.float16 else dtype, *rest, **keywords)


def _switched_on(old: Any, scaler: Any, *arguments: Any, **keywords: Any) -> None:
    """As asked for; and where that is off, once more on the CPU, whose scaler needs no device."""
    old(scaler, *arguments, **keywords)
    if scaler.is_enabled():
        return
    kept = {name: value for name, value in keywords.items() if name not in ("device", "enabled")}
    old(scaler, "cpu", enabled=True, **kept)


def _set_scale(scaler: Any, scale: float) -> None:
    if scaler.is_enabled():
        scaler._init_scale = scale
        if scaler._scale is not None:
            scaler._scale.fill_(scale)


def _loaded(scale: float) -> Any:
    def load(old: Any, scaler: Any, state: Any) -> None:
        old(scaler, state)
        _set_scale(scaler, scale)

    return load


def _pretend(device: str, there: bool) -> None:
    owner = torch.cuda if device == "cuda" else torch.backends.mps
    replace_around(owner, "is_available", lambda _old: there)
    if device == "cuda":
        replace_around(torch.cuda, "device_count", lambda _old: int(there))


def _halve(followed: Followed) -> None:
    for parameter in followed.parameters():
        parameter.data = parameter.data.half()


class _Rewrites:
    """Follows the lines behind a backward, and tells those after which a gradient is another."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._known: list[tuple[int, int]] = []
        self._lines = LineWatch(self._changed, lambda place: watch.move("rewritten", site=place), once=False)

    def start(self) -> None:
        self._known = self._versions()
        self._lines.start()

    def stop(self) -> None:
        self._lines.stop()

    def _versions(self) -> list[tuple[int, int]]:
        return [version(parameter) for followed in self._watch.followed for parameter in followed.parameters()]

    def _changed(self) -> bool:
        before, self._known = self._known, self._versions()
        return self._known != before


class _HalfOutputs:
    """Tells the first module whose output is float16 although autocast was given bfloat16."""

    def __init__(self, tell: Tell) -> None:
        self._tell: Tell | None = tell

    def __call__(self, module: torch.nn.Module, _inputs: object, output: object) -> None:
        if self._tell is not None and isinstance(output, torch.Tensor) and output.dtype is torch.float16:
            self._tell("float16", module=type(module).__name__, site=caller())
            self._tell = None
