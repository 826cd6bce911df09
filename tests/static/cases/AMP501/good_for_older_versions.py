"""The old interface where the new one is missing."""

import torch


def scaler(device):
    try:
        return torch.amp.GradScaler(device=device)
    except (AttributeError, TypeError):
        return torch.cuda.amp.GradScaler()


def region(enabled):
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.autocast("cuda", enabled=enabled)
    return torch.amp.autocast("cuda", enabled=enabled) if enabled else torch.cuda.amp.autocast(enabled=enabled)


class Scale:
    def __init__(self, recent):
        if recent:
            self.scaler = torch.amp.GradScaler("cuda")
        else:
            self.scaler = torch.cuda.amp.GradScaler()


def by_its_short_name(device, **options):
    try:
        return torch.autocast(device_type=device, **options)
    except RuntimeError:
        try:
            from torch.cuda.amp import autocast

            return autocast(**options)
        except ImportError:
            return None


def short_scaler(device):
    return torch.GradScaler(device) if hasattr(torch, "GradScaler") else torch.cuda.amp.GradScaler()
