import torch
from torch import nn
from torch.cuda.amp import autocast, custom_fwd


def before(model, images):
    images = images.half()
    with autocast():
        return model(images)


def island(model, images):
    with autocast():
        with autocast(enabled=False):
            return model(images.half())


def results(model, images):
    with autocast():
        return model(images).half()


class Scale(torch.autograd.Function):
    @staticmethod
    @custom_fwd(cast_inputs=torch.float16)
    def forward(ctx, x):
        return x * 2


class Wide(nn.Module):
    @custom_fwd(cast_inputs=torch.float32)
    def forward(self, a):
        return a.sum()
