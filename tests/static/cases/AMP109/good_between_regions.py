"""The function is applied between two regions, and wherever that is called no region is open."""

import torch
import corr_sampler


class CorrSampler(torch.autograd.Function):
    @staticmethod
    def forward(ctx, volume, coords):
        ctx.save_for_backward(volume, coords)
        (corr,) = corr_sampler.forward(volume, coords)
        return corr

    @staticmethod
    def backward(ctx, gradient):
        volume, coords = ctx.saved_tensors
        (gradient_of_volume,) = corr_sampler.backward(volume, coords, gradient)
        return gradient_of_volume, None


class Correlation:
    def __init__(self, one, other):
        self.volume = torch.einsum("aijk,aijh->ajkh", one, other)

    def __call__(self, coords):
        return CorrSampler.apply(self.volume, coords)


class Flow(torch.nn.Module):
    def __init__(self, features, update):
        super().__init__()
        self.features, self.update = features, update

    def forward(self, one, other, coords):
        with torch.autocast("cuda"):
            first, second = self.features([one, other])
        correlation = Correlation(first.float(), second.float())
        for _ in range(12):
            corr = correlation(coords)
            with torch.autocast("cuda"):
                coords = coords + self.update(corr)
        return coords
