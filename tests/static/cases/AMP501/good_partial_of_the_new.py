"""One name for both interfaces: where torch has the new one, its partial, a function or a subclass of it."""

import functools
from dataclasses import dataclass, field

import torch
from torch.cuda.amp import GradScaler as OldScaler

RECENT = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 3)

if RECENT:
    Scaler = functools.partial(torch.amp.GradScaler, "cuda")
    make_scaler = lambda: torch.GradScaler("cuda")
    half = functools.partial(torch.autocast, device_type="cuda", dtype=torch.float16)
else:
    Scaler = OldScaler
    make_scaler = OldScaler
    half = functools.partial(torch.cuda.amp.autocast, dtype=torch.float16)

if RECENT:

    def scaler_with(**options):
        return torch.amp.GradScaler("cuda", **options)

    class LoggedScaler(torch.amp.GradScaler):
        def __init__(self):
            super().__init__("cuda")
else:
    scaler_with = OldScaler
    LoggedScaler = OldScaler


class Trainer:
    def __init__(self, fp16):
        self.scaler = Scaler() if fp16 else None
        self.second = make_scaler()
        self.third = scaler_with(init_scale=1024.0)
        self.fourth = LoggedScaler()
        self.region = functools.partial(torch.autocast, "cuda") if RECENT else torch.cuda.amp.autocast

    def forward(self, model, batch):
        with half(), self.region():
            return model(batch)


@dataclass
class State:
    scaler: OldScaler = field(default_factory=Scaler)
