"""Networks that compute in float16 by themselves: one is trained with a scaler, others without gradients or in bfloat16."""

import torch


class Network(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = torch.nn.Linear(width, 1)

    @torch.autocast(device_type="cuda")
    def forward(self, points):
        return self.layer(points)
