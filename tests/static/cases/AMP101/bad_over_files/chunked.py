"""A loss that back-propagates by itself, in a file without a word of AMP."""

from torch import nn


class ChunkedLoss(nn.Module):
    def __init__(self, encoder, chunk):
        super().__init__()
        self.encoder = encoder
        self.chunk = chunk

    def forward(self, inputs, targets):
        total = 0.0
        for start in range(0, len(inputs), self.chunk):
            part = self.encoder(inputs[start : start + self.chunk]).sub(targets[start : start + self.chunk]).square().mean()
            part.backward()  # expect: AMP101 likely
            total += part.detach()
        return total
