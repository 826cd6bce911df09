import torch
from fills import fill, fill_lowest
from torch import nn


class Each(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x.flatten(0, 1)).unflatten(0, x.shape[:2])


class Pairs(nn.Module):
    def __init__(self, encoder, size):
        super().__init__()
        self.encoder = encoder
        self.scorer = Each(nn.Linear(size, 1))
        self.final_norm = nn.LayerNorm(size)

    def forward(self, spans, own_scores, mask, extra=None):
        encoded = self.encoder(spans)
        if extra is not None:
            encoded = torch.cat([encoded, extra], -1)
        widest = fill(encoded, mask.unsqueeze(2), -1e7)  # expect: AMP403 likely
        scores = self.scorer(encoded).squeeze(-1)
        scores += own_scores
        scores = fill(scores, mask, -1e20)  # expect: AMP403 likely
        scores = fill(scores, mask, -1e4)
        normed = fill(self.final_norm(encoded), mask.unsqueeze(2), -1e7)
        return fill_lowest(scores, mask), widest, normed, fill(torch.log_softmax(scores, -1), mask, -1e20)
