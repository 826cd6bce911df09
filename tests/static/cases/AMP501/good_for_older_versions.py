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
