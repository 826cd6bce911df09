"""A branch for another device, or a class for where there is no torch, stands in for nothing."""

import contextlib
import functools

import torch
from torch.cuda.amp import autocast

try:
    from torch.cuda.amp import GradScaler
except ImportError:
    GradScaler = None

try:
    from torch.cuda.amp import custom_fwd
except ImportError:

    def custom_fwd(function):
        return function


def by_device(device):
    if device.type == "cuda":
        return torch.cuda.amp.GradScaler()  # expect: AMP501
    return torch.amp.GradScaler(device.type)


def by_what_is_there():
    if torch.xpu.is_available():
        return torch.amp.GradScaler(device="xpu")
    elif torch.cuda.is_available():
        return torch.cuda.amp.GradScaler()  # expect: AMP501
    return None


def as_one_expression(name, options):
    return torch.amp.autocast("mps", **options) if name == "mps" else torch.cuda.amp.autocast(**options)  # expect: AMP501


def only_there():
    return GradScaler(init_scale=2.0**12)  # expect: AMP501 likely


def chosen(model, batch, half):
    region = contextlib.nullcontext
    if half:
        region = autocast
    with region():  # expect: AMP501 likely
        return model(batch)


class Net(torch.nn.Module):
    def __init__(self, half):
        super().__init__()
        self.region = autocast if half else contextlib.nullcontext

    def forward(self, x):
        with self.region():  # expect: AMP501 likely
            return x


class Square(torch.autograd.Function):
    @staticmethod
    @custom_fwd  # expect: AMP501 likely
    def forward(ctx, x):
        return x * x


def make_region(device):
    region = functools.partial(torch.autocast, "mps") if device == "mps" else torch.cuda.amp.autocast
    return region()  # expect: AMP501 likely


def make_scaler(device):
    new = torch.cuda.amp.GradScaler
    if device == "xpu":
        new = functools.partial(torch.amp.GradScaler, device="xpu")
    return new()  # expect: AMP501 likely


def counted(half):
    make = functools.partial(dict, enabled=False)
    if half:
        make = torch.cuda.amp.GradScaler
    return make()  # expect: AMP501 likely
