"""Names that are not deprecated, in a file that talks about torch.cuda.amp a lot."""

import torch
import torch.amp
from torch import amp, autocast
from torch.amp import GradScaler, custom_bwd, custom_fwd


def regions(model, batch):
    scaler = GradScaler("cuda")
    with autocast("cuda"), amp.autocast("cpu"), torch.autocast(device_type="cuda"):
        loss = model(batch)
    torch.amp.GradScaler("cuda").scale(loss)
    print("torch.cuda.amp.autocast() was deprecated in 2.4", scaler)


class Square(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cuda")
    def forward(ctx, x):
        return x

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        return grad
