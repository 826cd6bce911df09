"""Epsilons that hold, float32 by the operator policy, and results that nothing divides by."""

import torch
from torch.cuda.amp import autocast


def large_enough(q, k):
    with autocast():
        return torch.log((q @ k).sigmoid() + 1e-6)


def wide(q, k):
    with autocast():
        return torch.log((q @ k).float().sigmoid() + 1e-8) + torch.log(torch.sigmoid((q @ k).float()) + 1e-8)


def lifted_by_the_policy(q, k):
    with autocast():
        scores = q @ k
        normed = scores / (scores.norm(dim=-1, keepdim=True) + 1e-8)
        summed = scores / (scores.sum() + 1e-8)
        squared = ((scores**2).mean() + 1e-8).sqrt()
        return normed, summed, squared, torch.log(torch.softmax(scores, -1) + 1e-8)


def unknown(x):
    with autocast():
        return x / (x + 1e-8)


def bfloat16(q, k):
    with autocast(dtype=torch.bfloat16):
        return torch.log((q @ k).sigmoid() + 1e-8)


def outside(q, k):
    return torch.log((q @ k).sigmoid() + 1e-8)


def only_added(q, k):
    with autocast():
        return (q @ k) + 1e-8


class Lifted(nn.Module):
    """The scores are float32 before the epsilon is added, under the same name."""

    def forward(self, scores, classes):
        scores = torch.sigmoid(scores)
        scores = scores.float()[:, classes]
        return -(1 - scores + 1e-8).log()


def lifted(scores, classes):
    judge = Lifted()
    with autocast():
        return judge(scores, classes)


def log(t, eps=1e-10):
    return torch.log(t + eps)


def entropy(scores):
    with autocast():
        return log(scores.float().sigmoid()).mean() + log(torch.softmax(scores, dim=-1)).mean()


def bounded(x, w):
    """Bounds that float16 has, a bound that nothing is taken from, and a float32 tensor."""
    with autocast():
        chances = torch.sigmoid(x @ w).clamp(1e-3, 1 - 1e-3)
        low = torch.log(1 - chances)
        weights = torch.sigmoid(x @ w).clamp(1e-3, 1 - 1e-6)
        wide = torch.sigmoid((x @ w).float()).clamp(1e-6, 1 - 1e-6)
        return low, torch.log(weights), torch.log(1 - wide)


def focal_loss(chances, target):
    chances = torch.clamp(chances, 1e-4, 1 - 1e-4)
    return -(torch.log(chances) * target + torch.log(1 - chances) * (1 - target)).mean()


def heatmap(head, x, target):
    with autocast():
        return focal_loss(head(x).float().sigmoid(), target)


def spectrum(x):
    z = torch.stft(x, 512, return_complex=True)
    return z.view(z.shape)


class Masked(torch.nn.Module):
    """The names of a function are its own: this `z` is not made of half tensors because the other is one."""

    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(4, 4)

    def mask(self, z, m):
        return z / (1e-8 + z.abs()) * m

    def forward(self, x):
        z = spectrum(x)
        z = z[..., :4]
        return self.mask(z, self.body(x))


def train_masked(optimizer, scaler, batches):
    model = Masked()
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
