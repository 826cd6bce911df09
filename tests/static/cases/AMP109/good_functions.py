"""Custom functions that autocast cannot hurt, or whose author thought of it."""

import torch
from torch.amp import custom_bwd, custom_fwd
from torch.autograd import Function

from . import gather_cuda as kernels


class Reversal(Function):
    @staticmethod
    def forward(ctx, inputs, weight):
        ctx.weight = weight
        return inputs.view_as(inputs)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.neg() * ctx.weight, None


class Projection(Function):
    @staticmethod
    @custom_fwd(device_type="cuda")
    def forward(ctx, inputs, weight):
        ctx.save_for_backward(inputs, weight)
        return inputs @ weight

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, gradient):
        inputs, weight = ctx.saved_tensors
        return gradient @ weight.t(), inputs.t() @ gradient


class Neighbours(Function):
    @staticmethod
    def forward(ctx, points, count):
        return kernels.nearest(points, count)

    @staticmethod
    def backward(ctx, gradient=None):
        return None, None


class Sampling(Function):
    @staticmethod
    def forward(ctx, values, places):
        ctx.save_for_backward(values, places)
        return kernels.sample(values, places)

    @staticmethod
    def backward(ctx, gradient):
        return kernels.sample_grad(gradient, *ctx.saved_tensors), None


def sample(values, places):
    return Sampling.apply(values.float(), places.float())


def train(model, loss_fn, scaler, batches):
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            loss = loss_fn(sample(model(inputs), inputs), targets)
        scaler.scale(loss).backward()
