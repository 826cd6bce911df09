"""The old name where the new one, for the same device, is missing; and names that may be the new one."""

import torch

try:
    from torch.amp import GradScaler
except ImportError:
    from torch.cuda.amp import GradScaler

RECENT = tuple(int(each) for each in torch.__version__.split(".")[:2]) >= (2, 4)

if RECENT:
    from torch.amp import autocast
else:
    from torch.cuda.amp import autocast


def either(enabled):
    return GradScaler(enabled=enabled), autocast(enabled=enabled)


def returned_early(device):
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler(device)
    return torch.cuda.amp.GradScaler()


def same_device(new):
    if new:
        return torch.amp.GradScaler("cuda:0")
    else:
        return torch.cuda.amp.GradScaler()


def region(device, **options):
    try:
        return torch.amp.autocast(device, **options)
    except AttributeError:
        return torch.cuda.amp.autocast(**options)


def kinds():
    chosen = torch.amp.autocast if RECENT else torch.cuda.amp.autocast
    return chosen("cuda")
