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


def by_default(
    model,
    scaler=torch.cuda.amp.GradScaler(),  # expect: AMP501
    *,
    region=torch.cuda.amp.autocast(),  # expect: AMP501
):
    return model, scaler, region, lambda made=torch.cuda.amp.GradScaler(): made  # expect: AMP501
