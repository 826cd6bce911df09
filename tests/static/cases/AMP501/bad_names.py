"""Deprecated names, through every kind of import."""

import torch
import torch.cuda.amp as cuda_amp
from torch import cuda
from torch.cuda import amp
from torch.cuda.amp import GradScaler as Scaler
from torch.cuda.amp import autocast, custom_bwd, custom_fwd

scaler = Scaler(init_scale=1024.0)  # expect: AMP501
other = torch.cuda.amp.GradScaler()  # expect: AMP501


def regions(model, batch, flag):
    with autocast():  # expect: AMP501
        model(batch)
    with amp.autocast(enabled=flag), torch.no_grad():  # expect: AMP501
        model(batch)
    with torch.cpu.amp.autocast(dtype=torch.bfloat16):  # expect: AMP501
        model(batch)
    with cuda_amp.autocast(flag):  # expect: AMP501
        model(batch)
    with cuda.amp.autocast():  # expect: AMP501
        model(batch)


class Square(torch.autograd.Function):
    @staticmethod
    @custom_fwd  # expect: AMP501
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @custom_bwd  # expect: AMP501
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


@autocast()  # expect: AMP501
def forward(model, batch):
    return model(batch)


class Model(torch.nn.Module):
    @amp.autocast(enabled=False)  # expect: AMP501
    def forward(self, x):
        return x
