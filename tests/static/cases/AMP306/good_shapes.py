import torch
from torch.cuda.amp import GradScaler


def build(args, device, use_amp, init_scale):
    return [
        torch.amp.GradScaler(),
        torch.amp.GradScaler("cuda"),
        torch.amp.GradScaler(device, enabled=use_amp),
        torch.amp.GradScaler("cuda", 1024.0),
        GradScaler(2.0**12),
        GradScaler(init_scale),
        GradScaler(args.init_scale, enabled=args.amp),
        GradScaler(enabled=use_amp, growth_factor=1.5, backoff_factor=0.9),
    ]
