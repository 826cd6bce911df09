import functools
from dataclasses import dataclass, field

import torch
from torch.cuda.amp import GradScaler as Scaler

make = lambda: torch.amp.GradScaler("cuda")
half = functools.partial(torch.amp.autocast, "cuda", dtype=torch.float16)


@dataclass
class State:
    scaler: Scaler | None = field(default_factory=make)


def is_scaler(made):
    return isinstance(made, Scaler)


def dtype_in_use():
    if hasattr(torch, "get_autocast_dtype"):
        return torch.get_autocast_dtype("cuda")
    else:
        return torch.get_autocast_gpu_dtype()


def recent():
    return tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 4)


def chosen_by_a_function():
    return torch.get_autocast_dtype("cpu") if recent() else torch.get_autocast_cpu_dtype()
