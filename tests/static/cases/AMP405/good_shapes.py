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


def kept_in_half(model, images, targets, l1_loss, shown):
    with autocast():
        drawn = model(images)
        loss = l1_loss(drawn, targets)
        drawn = drawn.half()
        shown.append(drawn)
    return loss


def cast_behind_the_region(model, images, targets, l1_loss):
    with autocast():
        drawn = model(images)
    drawn = drawn.half()
    return l1_loss(drawn, targets)
