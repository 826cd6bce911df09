"""The same function, applied between two regions of a model that runs in a region itself."""

import torch
import corr_sampler


class CorrSampler(torch.autograd.Function):  # expect: AMP109 likely
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


def train(features, update, optimizer, scaler, batches):
    model = Flow(features, update)
    for one, other, coords in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(one, other, coords).abs().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
