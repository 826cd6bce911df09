"""Which module of the model runs: its path from the outermost one that was called, `encoder.layers.3.attention`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.nn.modules import module as modules


class ModulePaths:
    """The modules whose forward runs, outermost first. Hooks on all modules, while somebody looks."""

    def __init__(self, outermost: Callable[[Any], None] | None = None) -> None:
        self._outermost = outermost
        """Called with each module that no other one calls."""
        self._running: list[Any] = []
        self._names: dict[int, str] = {}
        self._handles: list[Any] = []

    def start(self) -> None:
        if not self._handles:
            self._handles = [
                modules.register_module_forward_pre_hook(self.enter),
                modules.register_module_forward_hook(self._leave, always_call=True),
            ]

    def stop(self) -> None:
        for each in self._handles:
            each.remove()
        self._handles.clear()
        self._running.clear()

    @property
    def here(self) -> str:
        """The path of the innermost module; the type of the outermost one where that runs itself; empty for none."""
        if not self._running:
            return ""
        innermost = self._running[-1]
        return self._names.get(id(innermost)) or type(innermost).__qualname__

    def enter(self, module: Any, _inputs: object) -> None:
        """A module is called."""
        if not self._running:
            self._names = {id(each): name for name, each in module.named_modules()}
            if self._outermost is not None:
                self._outermost(module)
        self._running.append(module)

    def _leave(self, module: Any, _inputs: object, _output: object) -> None:
        while self._running and self._running.pop() is not module:
            pass
