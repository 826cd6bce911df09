"""Predict the memory of an arm's step without computing it: the workload takes its steps with fake tensors.

Usage: python bootstrap.py bench.predict_memory OPTIONS.json ANSWER.json

The options: `workload`, `precision`, `seed`. The answer: `{"done": {"anatomy": {...}, "read": N}}`, or
`{"failed": ...}` with one line that says why. A fake tensor has a shape, a dtype and a storage of some size, and no
values: what reads one is given ones, and how often is told. A program that asks more of its values is not predicted.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

STEPS = 2
"""The first step makes the optimizer's state; the last one is looked at."""


class Numbers:
    """What fake tensors are read as."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.count = 0

    @contextlib.contextmanager
    def standing_in(self) -> Iterator[None]:
        """Let fake tensors be read as ones. Whether one is true decides a branch of the program: that is refused."""
        tensor = self.torch.Tensor
        usual = {name: getattr(tensor, name) for name in ("item", "__float__", "__int__", "tolist", "numpy")}
        for name, original in usual.items():
            setattr(tensor, name, self._reading(original))
        try:
            yield
        finally:
            for name, original in usual.items():
                setattr(tensor, name, original)

    def _reading(self, original: Callable[..., Any]) -> Callable[..., Any]:
        from torch._subclasses.fake_tensor import FakeTensor
        from torch.utils._python_dispatch import _disable_current_modes

        def read(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if not isinstance(tensor, FakeTensor):
                return original(tensor, *args, **kwargs)
            self.count += 1
            with _disable_current_modes():
                return original(self.torch.ones(tensor.shape, dtype=tensor.dtype), *args, **kwargs)

        return read


@contextlib.contextmanager
def modules_stay(torch: Any) -> Iterator[None]:
    """Let modules of fake tensors be moved and copied, where torch swaps and aliases what cannot be.

    `Module.to` the device where all is already does nothing; a copy of a parameter has a storage of its own.
    """
    from torch._subclasses.fake_tensor import FakeTensor

    module, tensor = torch.nn.Module, torch.Tensor
    usual_to, usual_copy = module.to, tensor.__deepcopy__

    def to(moved: Any, *args: Any, **kwargs: Any) -> Any:
        device, dtype, *_ = torch._C._nn._parse_to(*args, **kwargs)
        stays = dtype is None and (device is None or device.type == "cpu")
        return moved if stays else usual_to(moved, *args, **kwargs)

    def copied(original: Any, memo: dict[int, Any]) -> Any:
        if not isinstance(original, FakeTensor):
            return usual_copy(original, memo)
        if id(original) not in memo:
            fresh = torch.empty_like(original, requires_grad=False)
            is_parameter = isinstance(original, torch.nn.Parameter)
            memo[id(original)] = torch.nn.Parameter(fresh, original.requires_grad) if is_parameter else fresh
        return memo[id(original)]

    module.to, tensor.__deepcopy__ = to, copied
    try:
        yield
    finally:
        module.to, tensor.__deepcopy__ = usual_to, usual_copy


def predicted(torch: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Build the workload and take its steps under fake tensors; the storages of the last step at their peak."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    from .storages import StorageWatch

    arm = importlib.import_module(f"{__package__}.arm")
    function = arm.imported(options["workload"])
    torch.manual_seed(options["seed"])
    random.seed(options["seed"])
    numbers = Numbers(torch)
    with FakeTensorMode(allow_non_fake_inputs=True), numbers.standing_in(), modules_stay(torch):
        workload = function(options["precision"], options["seed"], "cpu")
        workload.step()
        watch = StorageWatch("cpu")
        with watch.watching():
            watch.begin()
            workload.step()
    return {"anatomy": watch.anatomy(), "read": numbers.count}


def main(arguments: Sequence[str]) -> NoReturn:
    """Read the options, predict, write the answer."""
    options, answer = json.loads(Path(arguments[0]).read_text(encoding="utf-8")), Path(arguments[1])
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # nothing is computed, so no device is needed
    try:
        import torch
    except ImportError as error:
        told: dict[str, Any] = {"failed": f"the project's interpreter cannot import torch: {error}"}
    else:
        try:
            told = {"done": predicted(torch, options)}
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a workload may call sys.exit; that too is an answer
            told = {"failed": importlib.import_module(f"{__package__}.arm").described(torch, error)["text"]}
    answer.write_text(json.dumps(told), encoding="utf-8")
    os._exit(0)  # everything is said: whatever threads or exit handlers the project left must not hold the gate up
