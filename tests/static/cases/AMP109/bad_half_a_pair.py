"""`custom_bwd` asks for the autocast state that `custom_fwd` would have noted."""

import torch
from torch.amp import custom_bwd, custom_fwd


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    @custom_bwd(device_type="cuda")  # expect: AMP109
    def backward(ctx, upstream):
        return upstream * 2


class Both(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cuda")
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, upstream):
        return upstream * 2


def train(model, optimizer, scaler, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(Both.apply(Scaled.apply(model(inputs))), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
