import torch
from torch.cuda.amp import GradScaler

try:
    from torch_xla.amp import GradScaler as Anywhere
except ImportError:
    from torch.amp import GradScaler as Anywhere


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


class Own(GradScaler):
    def __init__(self, window, **rest):
        super().__init__(**rest)
        self.window = window


def of_others(use_amp):
    return [Anywhere(use_zero_grad=True), Own(window=3, enabled=use_amp)]
