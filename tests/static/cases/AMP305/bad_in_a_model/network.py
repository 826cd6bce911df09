"""A network that computes in float16 by itself, whoever runs it: it accelerates training."""

import torch


class Network(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = torch.nn.Linear(width, 1)

    @torch.autocast(device_type="cuda")  # expect: AMP305 likely
    def forward(self, points):
        return self.layer(points)
