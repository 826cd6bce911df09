import torch
from torch.cuda.amp import GradScaler

SCALE = 2.0**10


def build(args, use_amp):
    return [
        torch.amp.GradScaler(65536.0),  # expect: AMP306
        torch.GradScaler(True),  # expect: AMP306
        torch.amp.GradScaler(use_amp),  # expect: AMP306 likely
        GradScaler("cuda"),  # expect: AMP306
        GradScaler(args.fp16),  # expect: AMP306 likely
        GradScaler(False),  # expect: AMP306
        torch.amp.GradScaler("cuda", growth_factor=1.0),  # expect: AMP306
        torch.amp.GradScaler("cuda", backoff_factor=2),  # expect: AMP306
    ]


def worked_out():
    return torch.amp.GradScaler(2.0**14)  # expect: AMP306


def misnamed(device, dtype, use_amp):
    return [
        torch.amp.GradScaler(device_type=device, enabled=use_amp),  # expect: AMP306
        GradScaler(enabled=use_amp, dtype=dtype),  # expect: AMP306
        GradScaler(device=device),  # expect: AMP306
    ]
