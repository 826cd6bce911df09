import functools
from dataclasses import dataclass, field

import torch
from torch.cuda.amp import GradScaler as Scaler

make = lambda: torch.cuda.amp.GradScaler()  # expect: AMP501
half = functools.partial(torch.cuda.amp.autocast, dtype=torch.float16)  # expect: AMP501


@dataclass
class State:
    scaler: Scaler = field(default_factory=Scaler)  # expect: AMP501


def regions():
    made = {"on": lambda: torch.cuda.amp.autocast(enabled=True), "off": None}  # expect: AMP501
    if torch.is_autocast_enabled():
        return made, torch.get_autocast_gpu_dtype()  # expect: AMP501
    return made, torch.float32
